#include "protocol/peers/peer_session_letters.hpp"

#include "protocol/peers/peer_proxies.hpp"
#include "protocol/peers/peer_session_followers.hpp"

#include <fmt/format.h>

#include <charconv>
#include <set>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>

namespace reprieve {

namespace {

using self_pointer = peer_session_pointer;

/// Whether it is written as node and workload shards are, behind n/ or w/.
bool is_shard_of_group(std::string_view to) {
  return to.starts_with("n/") || to.starts_with("w/");
}

std::string group_of(std::string_view shard) {
  const auto name = shard.substr(2);
  return std::string(name.substr(0, name.rfind('.')));
}

absl::Status not_here(const std::string& to) {
  return absl::UnavailableError(fmt::format("{} is not served here", to));
}

void refuse(self_pointer self, const peer_envelope& letter, const absl::Status& why) {
  if (letter.number != 0)
    self->state.exchange->answer(letter.number, why);
}

/// Hands the message to the actor, and its answer back.
template <class Answer, class Message, class Handle>
void ask(self_pointer self, const Handle& whom, peer_envelope& letter) {
  auto m = open_letter<Message>(letter);
  if (!m.ok()) {
    refuse(self, letter, m.status());
    return;
  }
  self->request(whom, caf::infinite, *std::move(m))
    .then([self, number = letter.number](
            const Answer& answer) { self->state.exchange->answer(number, encode_peer(answer)); },
          [self, number = letter.number](caf::error& error) {
            self->state.exchange->answer(number, to_status(error));
          });
}

template <class Message, class Handle>
void tell(self_pointer self, const Handle& whom, peer_envelope& letter) {
  if (auto m = open_letter<Message>(letter); m.ok())
    self->send(whom, *std::move(m));
}

/// The epoch and the resource group of a coordinator that follows what its group is granted.
std::pair<revision, std::string> follow_quota_in(const peer_envelope& letter) {
  const auto [number, group] = token_and_rest(token_and_rest(letter.payload).second);
  revision epoch = 0;
  std::from_chars(number.data(), number.data() + number.size(), epoch);
  return {epoch, group};
}

/// Tells the other side when the shard ends.
template <class Handle>
void watch_shard(self_pointer self, const Handle& whom, const peer_envelope& letter) {
  if (self->state.watched.emplace(whom.address(), letter.to).second)
    self->monitor(whom);
}

/// Asks the one behind the token; through the session, which has all questions under way.
template <class Answer, class Message>
caf::result<Answer> ask_other_side(quota_holder_actor::pointer self,
                                   const peer_session_actor& session, const std::string& token,
                                   const Message& m) {
  auto answer = promise_from<Answer>(self);
  auto fail = [answer]() mutable { answer.give_up(); };
  self
    ->request(session, caf::infinite,
              ask_peer{{token, std::string(peer_kind<Message>()), encode_peer(m), {}}})
    .then(
      [answer, fail](const peer_reply& reply) mutable {
        auto read = reply.ok() ? decode_peer<Answer>(*reply) : reply.status();
        if (read.ok())
          answer.deliver(*std::move(read));
        else
          fail();
      },
      [fail](const caf::error&) mutable { fail(); });
  return answer;
}

/// A coordinator on the other side, as the queue shard here sees it.
quota_holder_actor::behavior_type quota_holder_proxy(quota_holder_actor::pointer self,
                                                     std::shared_ptr<peer_exchange> to,
                                                     peer_session_actor session,
                                                     std::string token) {
  // It ends with the session, but not the session with it: it is forgotten when another coordinator
  // takes its place.
  self->monitor(session);
  self->set_down_handler([self](const caf::down_msg& down) { self->quit(down.reason); });
  const auto tell_it = [to, token](const auto& m) {
    using message = std::decay_t<decltype(m)>;
    to->tell(token, std::string(peer_kind<message>()), encode_peer(m));
  };
  return {
    [tell_it](const quota_grants& m) { tell_it(m); },
    [self, session, token](const lower_grants& m) {
      return ask_other_side<quota_grants>(self, session, token, m);
    },
  };
}

// What can be said to whom. By the kind of message.

template <class Handle>
using handlers =
  std::unordered_map<std::string_view, void (*)(self_pointer, const Handle&, peer_envelope&)>;

template <bool VictimsGone>
void tell_of_room(self_pointer self, const node_shard_actor& whom, peer_envelope& letter) {
  await_room_for(self, whom, letter, VictimsGone);
}

/// Has the shard take back what a decision did, which waits for room there no more.
void withdraw_there(self_pointer self, const node_shard_actor& whom, peer_envelope& letter) {
  if (const auto dropped = decode_peer<withdraw>(letter.payload); dropped.ok())
    forget_room(self->state, dropped->decision, letter.to.substr(2));
  ask<absl::Status, withdraw>(self, whom, letter);
}

template <class Answer, class Message, class Handle>
auto asks() {
  return std::pair{peer_kind<Message>(),
                   +[](self_pointer self, const Handle& whom, peer_envelope& letter) {
                     ask<Answer, Message>(self, whom, letter);
                   }};
}

template <class Message, class Handle>
auto tells() {
  return std::pair{peer_kind<Message>(),
                   +[](self_pointer self, const Handle& whom, peer_envelope& letter) {
                     tell<Message>(self, whom, letter);
                   }};
}

const handlers<node_shard_actor>& of_node_shards() {
  using shard = node_shard_actor;
  static const handlers<shard> all{
    asks<absl::Status, put_nodes, shard>(),
    asks<absl::Status, remove_nodes, shard>(),
    asks<lent_result, lend<put_nodes>, shard>(),
    asks<lent_result, lend<remove_nodes>, shard>(),
    asks<lent_result, lend<close_shard>, shard>(),
    asks<absl::Status, lent_end, shard>(),
    asks<absl::Status, stop_pods, shard>(),
    tells<portion_facts, shard>(),
    asks<shard_evaluation, evaluate_nodes, shard>(),
    asks<absl::Status, prepare<node_parts>, shard>(),
    tells<release_hold, shard>(),
    asks<absl::Status, apply_parts<node_parts>, shard>(),
    asks<absl::Status, start_pods, shard>(),
    {peer_kind<withdraw>(), withdraw_there},
    tells<use_group_limits, shard>(),
    asks<heartbeat_result, heartbeat_request, shard>(),
    tells<drop_votes, shard>(),
    asks<absl::Status, confirm_ownership, shard>(),
    asks<std::size_t, count_holds, shard>(),
    {peer_kinds::follow, add_peer_follower},
    {peer_kinds::await_room, tell_of_room<false>},
    {peer_kinds::await_victims, tell_of_room<true>},
  };
  return all;
}

const handlers<workload_shard_actor>& of_workload_shards() {
  using shard = workload_shard_actor;
  static const handlers<shard> all{
    asks<absl::Status, put_workloads, shard>(),
    asks<absl::Status, remove_workloads, shard>(),
    asks<lent_result, lend<put_workloads>, shard>(),
    asks<lent_result, lend<remove_workloads>, shard>(),
    asks<lent_result, lend<close_shard>, shard>(),
    asks<absl::Status, lent_end, shard>(),
    asks<absl::Status, forget_workloads, shard>(),
    asks<absl::Status, slots_ended, shard>(),
    asks<absl::Status, prepare<workload_parts>, shard>(),
    tells<release_hold, shard>(),
    asks<absl::Status, apply_parts<workload_parts>, shard>(),
    asks<absl::Status, withdraw, shard>(),
    asks<absl::Status, note_placements, shard>(),
    tells<drop_votes, shard>(),
    asks<absl::Status, confirm_ownership, shard>(),
    asks<std::size_t, count_holds, shard>(),
    {peer_kinds::follow, add_peer_follower},
  };
  return all;
}

const handlers<queue_shard_actor>& of_queue_shards() {
  using shard = queue_shard_actor;
  static const handlers<shard> all{
    asks<absl::Status, put_catalog, shard>(),
    asks<absl::Status, remove_catalog, shard>(),
    asks<lent_result, lend<put_catalog>, shard>(),
    asks<lent_result, lend<remove_catalog>, shard>(),
    asks<absl::Status, lent_end, shard>(),
    tells<quota_report, shard>(),
    asks<by_name<queue_status>, read_queues, shard>(),
    asks<absl::Status, confirm_ownership, shard>(),
    {peer_kinds::follow, add_peer_follower},
    {peer_kinds::follow_quota,
     [](self_pointer self, const shard& whom, peer_envelope& letter) {
       const auto token = token_and_rest(letter.payload).first;
       const auto [epoch, group] = follow_quota_in(letter);
       // It ends with the session, or before: when the queue shard has another for the group.
       const auto holder =
         self->spawn(quota_holder_proxy, self->state.exchange, peer_session_actor(self), token);
       self->send(whom, reprieve::follow_quota{group, holder, epoch});
     }},
  };
  return all;
}

template <class Handle>
void hand_over(self_pointer self, const Handle& whom, const handlers<Handle>& all,
               peer_envelope& letter) {
  if (letter.kind == peer_kinds::watch_shard)
    watch_shard(self, whom, letter);
  else if (const auto found = all.find(letter.kind); found != all.end())
    found->second(self, whom, letter);
  else
    refuse(self, letter,
           absl::UnimplementedError(fmt::format("{} does not know {}", letter.to, letter.kind)));
}

/// What only the group's one coordinator says.
bool is_of_coordinator(const std::string& kind) {
  static const std::set<std::string_view> kinds{peer_kind<prepare<node_parts>>(),
                                                peer_kind<apply_parts<node_parts>>(),
                                                peer_kind<prepare<workload_parts>>(),
                                                peer_kind<apply_parts<workload_parts>>(),
                                                peer_kind<start_pods>(),
                                                peer_kind<withdraw>(),
                                                peer_kind<stop_pods>(),
                                                peer_kind<portion_facts>(),
                                                peer_kind<drop_votes>(),
                                                peer_kind<note_placements>(),
                                                peer_kind<use_group_limits>()};
  return kinds.contains(kind);
}

} // namespace

void receive_letter(peer_session_pointer self, peer_envelope& letter) {
  const auto here = self->state.host->here();
  const auto absent = [&] {
    if (letter.kind == peer_kinds::watch_shard || letter.kind == peer_kinds::follow)
      self->state.exchange->tell(letter.to, peer_kinds::ended, {});
    refuse(self, letter, not_here(letter.to));
  };
  if (is_of_coordinator(letter.kind)) {
    if (!is_shard_of_group(letter.to)) {
      absent();
      return;
    }
    const auto group = group_of(letter.to);
    if (!self->state.host->may_decide(group, letter.epoch)) {
      refuse(self, letter, absl::AbortedError("the resource group has a newer coordinator"));
      return;
    }
    if (letter.kind == peer_kind<drop_votes>())
      self->state.host->begins(group, letter.epoch);
  }
  if (letter.to.starts_with("n/")) {
    const auto found = here->nodes.find(letter.to);
    found == here->nodes.end() ? absent()
                               : hand_over(self, found->second, of_node_shards(), letter);
  } else if (letter.to.starts_with("w/")) {
    const auto found = here->workloads.find(letter.to);
    found == here->workloads.end() ? absent()
                                   : hand_over(self, found->second, of_workload_shards(), letter);
  } else if (letter.to.starts_with("c/")) {
    const auto found = here->coordinators.find(letter.to);
    if (found == here->coordinators.end())
      absent();
    else if (letter.kind == peer_kinds::watch_shard)
      watch_shard(self, found->second, letter);
    else if (letter.kind == peer_kind<why_pending>())
      ask<std::string, why_pending>(self, found->second, letter);
    else if (letter.kind == peer_kind<read_group>())
      ask<read_group_result, read_group>(self, found->second, letter);
  } else if (letter.to == queue_tree_shard) {
    here->queues ? hand_over(self, here->queues, of_queue_shards(), letter) : absent();
  } else if (letter.kind == peer_kind<event>()) {
    if (auto seen = open_letter<event>(letter); seen.ok() && here->events)
      self->send(here->events, relayed_event{*std::move(seen)});
  } else {
    absent();
  }
}

revision epoch_inside(const peer_envelope& letter) {
  if (letter.kind == peer_kind<drop_votes>()) {
    const auto m = decode_peer<drop_votes>(letter.payload);
    return m.ok() ? m->before : 0;
  }
  if (letter.kind == peer_kind<quota_report>()) {
    const auto m = decode_peer<quota_report>(letter.payload);
    return m.ok() ? m->epoch : 0;
  }
  if (letter.kind == peer_kinds::follow_quota)
    return follow_quota_in(letter).first;
  return 0;
}

} // namespace reprieve
