#include "protocol/peers/peer_session.hpp"

#include "protocol/peers/peer_proxies.hpp"
#include "protocol/records/records.hpp"
#include "state/records/keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <unordered_map>

namespace reprieve {

position_reader position_of(std::weak_ptr<store> behind) {
  return [behind = std::move(behind)](std::function<void(absl::StatusOr<store_position>)> done) {
    const auto there = behind.lock();
    if (!there) {
      done(absl::UnavailableError("the store is closed"));
      return;
    }
    there->read({just(std::string(keys::schema)), 1, 0, false},
                [done = std::move(done)](const absl::StatusOr<range_result>& found) {
                  if (!found.ok()) {
                    done(found.status());
                    return;
                  }
                  store_position position{found->current, 0};
                  for (const auto& one : found->values)
                    if (const auto schema = decode<schema_record>(one.value); schema.ok())
                      position.epoch_base = schema->epoch_base;
                  done(position);
                });
  };
}

bool peer_host::is_given(revision epoch) const {
  const std::lock_guard lock(mutex_);
  return !read_ || epoch <= known_.current;
}

bool peer_host::is_given_with_base(revision epoch) const {
  const std::lock_guard lock(mutex_);
  return !read_ || epoch <= known_.current + known_.epoch_base;
}

void peer_host::read_position(std::function<void(absl::StatusOr<store_position>)> done) {
  read_(
    [me = shared_from_this(), done = std::move(done)](const absl::StatusOr<store_position>& found) {
      if (found.ok()) {
        const std::lock_guard lock(me->mutex_);
        me->known_.current = std::max(me->known_.current, found->current);
        me->known_.epoch_base = found->epoch_base;
      }
      done(found);
    });
}

void peer_host::say(const std::string& what) const {
  if (say_)
    say_(what);
}

void peer_host::serve(std::shared_ptr<const local_shards> here) {
  const std::lock_guard lock(mutex_);
  here_ = std::move(here);
}

std::shared_ptr<const local_shards> peer_host::here() const {
  const std::lock_guard lock(mutex_);
  return here_;
}

bool peer_host::may_decide(const std::string& group, revision epoch) const {
  const std::lock_guard lock(mutex_);
  if (here_->coordinators.contains(coordinator_of(group)))
    return false;
  const auto found = newest_.find(group);
  return found == newest_.end() || epoch >= found->second;
}

void peer_host::begins(const std::string& group, revision epoch) {
  const std::lock_guard lock(mutex_);
  auto& newest = newest_[group];
  newest = std::max(newest, epoch);
}

namespace {

using self_pointer = peer_session_actor::stateful_pointer<peer_session_state>;

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

/// Splits the token from what else was said.
std::pair<std::string, std::string> token_and_rest(const std::string& payload) {
  const auto space = payload.find(' ');
  return {payload.substr(0, space), space == std::string::npos ? "" : payload.substr(space + 1)};
}

/// The epoch and the resource group of a coordinator that follows what its group is granted.
std::pair<revision, std::string> follow_quota_in(const peer_envelope& letter) {
  const auto [number, group] = token_and_rest(token_and_rest(letter.payload).second);
  revision epoch = 0;
  std::from_chars(number.data(), number.data() + number.size(), epoch);
  return {epoch, group};
}

template <class Message>
void send_to(self_pointer self, const std::string& token, const Message& m) {
  self->state.exchange->tell(token, std::string(peer_kind<Message>()), encode_peer(m));
}

/// A shard's changes go to all who follow it; everything, to who asked for it first.
template <class Delta>
void send_delta(self_pointer self, const std::string& shard, const Delta& delta) {
  auto& of = self->state.followed[shard];
  if (delta.everything && !of.fresh.empty()) {
    send_to(self, of.fresh.front(), delta);
    of.tokens.push_back(std::move(of.fresh.front()));
    of.fresh.pop_front();
    return;
  }
  const auto bytes = encode_peer(delta);
  for (const auto& token : of.tokens)
    self->state.exchange->tell(token, std::string(peer_kind<Delta>()), bytes);
}

/// Of large workloads only pages that have changed, to those who can put them together.
void send_delta(self_pointer self, const workload_delta& delta) {
  const auto shard = "w/" + delta.shard;
  auto& of = self->state.followed[shard];
  const bool whole = of.takes_whole_records;
  send_delta(self, shard, whole ? delta : of.paged.without_known(delta));
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

void follow(self_pointer self, const node_shard_actor& whom, peer_envelope& letter) {
  self->state.followed[letter.to].fresh.push_back(token_and_rest(letter.payload).first);
  self->send(whom, follow_nodes{self});
}

void follow(self_pointer self, const workload_shard_actor& whom, peer_envelope& letter) {
  auto& of = self->state.followed[letter.to];
  const auto [token, takes] = token_and_rest(letter.payload);
  of.takes_whole_records = takes != peer_kinds::takes_pages; // one of a version before
  of.fresh.push_back(token);
  self->send(whom, follow_workloads{self});
}

void follow(self_pointer self, const queue_shard_actor& whom, peer_envelope& letter) {
  self->state.catalog_tokens.push_back(token_and_rest(letter.payload).first);
  self->send(whom, follow_catalog{self});
}

template <bool VictimsGone>
void tell_of_room(self_pointer self, const node_shard_actor& whom, peer_envelope& letter) {
  const auto [token, decision] = token_and_rest(letter.payload);
  self->state.room_tokens[{decision, letter.to.substr(2)}] = token;
  self->send(whom, await_room{decision, self, VictimsGone});
}

/// Whoever follows the next one of the name asks for that anew.
void forget_followers(peer_session_state& state, const std::string& shard) {
  state.followed.erase(shard);
  if (shard == queue_tree_shard)
    state.catalog_tokens.clear();
  std::erase_if(state.room_tokens,
                [&](const auto& one) { return "n/" + one.first.second == shard; });
}

/// Has the shard take back what a decision did, which waits for room there no more.
void withdraw_there(self_pointer self, const node_shard_actor& whom, peer_envelope& letter) {
  if (const auto dropped = decode_peer<withdraw>(letter.payload); dropped.ok())
    self->state.room_tokens.erase({dropped->decision, letter.to.substr(2)});
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
    {peer_kinds::follow, follow},
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
    {peer_kinds::follow, follow},
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
    {peer_kinds::follow, follow},
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

void receive_letter(self_pointer self, peer_envelope& letter) {
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

/// The epoch that the letter speaks of beside its own; 0 where it speaks of none.
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

/// Whether the store is known to have given all epochs that the letter speaks of.
bool is_proven(const peer_session_state& state, const peer_envelope& letter) {
  const auto inside = epoch_inside(letter);
  return state.host->is_given(letter.epoch)
         && (inside == 0 || state.host->is_given_with_base(inside));
}

/// Asks the store how far it has come.
void look_at_position(self_pointer self) {
  const peer_session_actor me = self;
  self->state.host->read_position([me](absl::StatusOr<store_position> found) {
    caf::anon_send(me, position_read{std::move(found)});
  });
}

/// The letter waits until it is known that the store has given its epoch: this replica may not have
/// heard of that yet.
void hold(self_pointer self, peer_envelope letter) {
  constexpr std::size_t most = 10'000;
  auto& waiting = self->state.unproven;
  waiting.push_back(std::move(letter));
  if (waiting.size() > most)
    self->quit(caf::exit_reason::user_shutdown);
  else if (waiting.size() == 1)
    look_at_position(self);
}

/// Goes on with those that waited. Whoever speaks in an epoch that was never given is no replica of
/// this store, and is not listened to.
void receive_held_letters(self_pointer self) {
  auto& waiting = self->state.unproven;
  if (waiting.empty())
    return;
  const bool was_first = is_proven(self->state, waiting.front());
  if (!was_first) {
    self->state.host->say(
      fmt::format("a connection to the peers' port is ended: it spoke in epoch {}, which the store "
                  "has not given",
                  std::max(waiting.front().epoch, epoch_inside(waiting.front()))));
    self->quit(caf::exit_reason::user_shutdown);
    return;
  }
  while (!waiting.empty() && is_proven(self->state, waiting.front())) {
    auto letter = std::move(waiting.front());
    waiting.pop_front();
    receive_letter(self, letter);
  }
  if (!waiting.empty())
    look_at_position(self);
}

} // namespace

peer_session_actor::behavior_type peer_session(self_pointer self, std::shared_ptr<peer_host> host,
                                               std::shared_ptr<peer_wire> wire) {
  auto& state = self->state;
  state.host = std::move(host);
  state.wire = wire;
  state.exchange = std::make_shared<peer_exchange>(wire, nullptr);
  // Whatever it ends by, the other side must not go on talking to nobody.
  self->attach_functor([exchange = state.exchange](const caf::error&) { exchange->end(); });
  self->set_down_handler([self](const caf::down_msg& down) {
    if (const auto found = self->state.watched.extract(down.source); !found.empty()) {
      self->state.exchange->tell(found.mapped(), peer_kinds::ended, {});
      forget_followers(self->state, found.mapped());
    }
  });
  return {
    [self](const node_delta& delta) { send_delta(self, "n/" + delta.shard, delta); },
    [self](const workload_delta& delta) { send_delta(self, delta); },
    [self](const catalog_update& update) {
      for (const auto& token : self->state.catalog_tokens)
        send_to(self, token, update);
    },
    [self](const room_free& there) {
      if (const auto token = self->state.room_tokens.extract({there.decision, there.shard});
          !token.empty())
        send_to(self, token.mapped(), there);
    },
    [self](ask_peer& asked) -> caf::result<peer_reply> {
      auto answer = promise_from<peer_reply>(self);
      auto& what = asked.what;
      self->state.exchange->ask(
        std::move(what.to), std::move(what.kind), std::move(what.payload), std::move(what.trace),
        [answer](absl::StatusOr<std::string> with) mutable { answer.deliver(std::move(with)); });
      return answer;
    },
    [self](wire_arrived& one) {
      auto& s = self->state;
      if (s.exchange->take_answer(one.letter))
        return;
      if (s.unproven.empty() && is_proven(s, one.letter))
        receive_letter(self, one.letter);
      else
        hold(self, std::move(one.letter));
    },
    [self](wire_closed) { self->quit(caf::exit_reason::user_shutdown); },
    [self](const position_read& read) {
      constexpr std::chrono::milliseconds pause{200};
      if (read.found.ok())
        receive_held_letters(self);
      else // the store does not answer, and nothing can be decided without it
        self->delayed_send(self, pause, look_at_position_again{});
    },
    [self](look_at_position_again) { look_at_position(self); },
  };
}

} // namespace reprieve
