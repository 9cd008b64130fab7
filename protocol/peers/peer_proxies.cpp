#include "protocol/peers/peer_proxies.hpp"

#include "protocol/peers/paged_deltas.hpp"

#include <fmt/format.h>

namespace reprieve {

namespace {

template <class Message>
pass_on letter_for(const std::string& to, const Message& m) {
  return {to, std::string(peer_kind<Message>()), encode_peer(m), trace_of(m)};
}

/// Sends a message that wants no answer.
template <class Self, class Message>
void tell(Self self, const Message& m) {
  self->send(self->state.link, letter_for(self->state.shard, m));
}

/// What an answer comes to that could not be had: an actor answers with a status, or an error.
template <class Answer>
void refuse(promise<Answer>& answer, const absl::Status& why) {
  if constexpr (std::is_constructible_v<Answer, absl::Status>)
    answer.deliver(Answer(why));
  else
    answer.give_up();
}

/// Passes a request on, and its answer back.
template <class Answer, class Self, class Message>
caf::result<Answer> ask(Self self, const Message& m) {
  auto answer = promise_from<Answer>(self);
  self->request(self->state.link, caf::infinite, ask_peer{letter_for(self->state.shard, m)})
    .then(
      [answer](peer_reply& reply) mutable {
        if (!reply.ok()) {
          refuse(answer, reply.status());
          return;
        }
        auto read = decode_peer<Answer>(*reply);
        if (read.ok())
          answer.deliver(*std::move(read));
        else
          refuse(answer, read.status());
      },
      [answer](caf::error& error) mutable { refuse(answer, to_status(error)); });
  return answer;
}

/// Has messages sent to the follower by the one that this proxy speaks for.
template <class Message, class Self, class Follower>
void follow(Self self, const char* kind, Follower follower, std::string more = {}) {
  self->send(self->state.link, follow_peer{{self->state.shard, kind, std::move(more), {}},
                                           [follower](peer_envelope& letter, const peer_answer&) {
                                             if (auto m = open_letter<Message>(letter); m.ok())
                                               caf::anon_send(follower, *std::move(m));
                                           }});
}

/// Likewise, with changes of large workloads put together.
template <class Self, class Follower>
void follow_in_pages(Self self, Follower follower) {
  auto deliver = [follower, paged = std::make_shared<paged_deltas_in>()](peer_envelope& letter,
                                                                         const peer_answer&) {
    auto m = open_letter<workload_delta>(letter);
    if (!m.ok())
      return;
    paged->complete(*m);
    caf::anon_send(follower, *std::move(m));
  };
  self->send(
    self->state.link,
    follow_peer{{self->state.shard, peer_kinds::follow, peer_kinds::takes_pages, {}}, deliver});
}

/// What all proxies do at first.
template <class Self>
void begin(Self self, peer_link_actor link, std::string shard) {
  auto& state = self->state;
  state.link = std::move(link);
  state.shard = std::move(shard);
  self->monitor(state.link);
  self->set_down_handler([self](const caf::down_msg& down) { self->quit(down.reason); });
}

/// Hears what the other side tells of the shard: that it has ended, or that room there is free.
template <class Self>
void listen(Self self) {
  const auto me = caf::actor_cast<caf::strong_actor_ptr>(self);
  self->send(self->state.link,
             listen_to_shard{self->state.shard, [me](peer_envelope& letter) {
                               if (letter.kind == peer_kinds::ended)
                                 caf::anon_send_exit(me, caf::exit_reason::remote_link_unreachable);
                             }});
  self->send(self->state.link, pass_on{self->state.shard, peer_kinds::watch_shard, {}, {}});
}

/// A question to the one behind a follower's token, and its answer.
template <class Answer, class Message, class Holder>
void ask_holder(caf::actor_system& system, const Holder& holder, const peer_envelope& letter,
                const peer_answer& answer) {
  auto m = open_letter<Message>(letter);
  if (!m.ok()) {
    answer(m.status());
    return;
  }
  system.spawn([holder, answer, m = *std::move(m)](caf::event_based_actor* self) {
    self->request(holder, answer_time, m)
      .then([answer](const Answer& found) { answer(encode_peer(found)); },
            [answer](const caf::error& error) { answer(to_status(error)); });
  });
}

template <class Message, class Holder>
void tell_holder(const Holder& holder, const peer_envelope& letter) {
  if (auto m = open_letter<Message>(letter); m.ok())
    caf::anon_send(holder, *std::move(m));
}

/// What the queue shard has for a coordinator.
void pass_to_holder(caf::actor_system& system, const quota_holder_actor& holder,
                    const peer_envelope& letter, const peer_answer& answer) {
  if (letter.kind == peer_kind<quota_grants>())
    tell_holder<quota_grants>(holder, letter);
  else if (letter.kind == peer_kind<lower_grants>())
    ask_holder<quota_grants, lower_grants>(system, holder, letter, answer);
}

} // namespace

node_shard_actor::behavior_type node_shard_proxy(proxy_pointer<node_shard_actor> self,
                                                 peer_link_actor link, std::string shard) {
  begin(self, std::move(link), std::move(shard));
  listen(self);
  return {
    [self](const put_nodes& m) { return ask<absl::Status>(self, m); },
    [self](const remove_nodes& m) { return ask<absl::Status>(self, m); },
    [self](const lend<put_nodes>& m) { return ask<lent_result>(self, m); },
    [self](const lend<remove_nodes>& m) { return ask<lent_result>(self, m); },
    [self](const lend<close_shard>& m) { return ask<lent_result>(self, m); },
    [self](const lent_end& m) { return ask<absl::Status>(self, m); },
    [self](const stop_pods& m) { return ask<absl::Status>(self, m); },
    [](const meet_workloads&) {}, // its own replica introduces it
    [self](follow_nodes& m) {
      follow<node_delta>(self, peer_kinds::follow, std::move(m.follower));
    },
    [self](const portion_facts& m) { tell(self, m); },
    [self](const evaluate_nodes& m) { return ask<shard_evaluation>(self, m); },
    [self](const prepare<node_parts>& m) { return ask<absl::Status>(self, m); },
    [self](const release_hold& m) { tell(self, m); },
    [self](const apply_parts<node_parts>& m) { return ask<absl::Status>(self, m); },
    [self](await_room& m) {
      const auto* kind = m.victims_gone ? peer_kinds::await_victims : peer_kinds::await_room;
      follow<room_free>(self, kind, std::move(m.listener), m.decision);
    },
    [self](const start_pods& m) { return ask<absl::Status>(self, m); },
    [self](const withdraw& m) { return ask<absl::Status>(self, m); },
    [](const pod_reports&) {},
    [self](const use_group_limits& m) { tell(self, m); },
    [self](const heartbeat_request& m) { return ask<heartbeat_result>(self, m); },
    [self](const drop_votes& m) { tell(self, m); },
    [self](count_holds m) { return ask<std::size_t>(self, m); },
    [self](confirm_ownership m) { return ask<absl::Status>(self, m); },
  };
}

workload_shard_actor::behavior_type workload_shard_proxy(proxy_pointer<workload_shard_actor> self,
                                                         peer_link_actor link, std::string shard) {
  begin(self, std::move(link), std::move(shard));
  listen(self);
  return {
    [self](const put_workloads& m) { return ask<absl::Status>(self, m); },
    [self](const remove_workloads& m) { return ask<absl::Status>(self, m); },
    [self](const lend<put_workloads>& m) { return ask<lent_result>(self, m); },
    [self](const lend<remove_workloads>& m) { return ask<lent_result>(self, m); },
    [self](const lend<close_shard>& m) { return ask<lent_result>(self, m); },
    [self](const lent_end& m) { return ask<absl::Status>(self, m); },
    [self](const forget_workloads& m) { return ask<absl::Status>(self, m); },
    [self](const slots_ended& m) { return ask<absl::Status>(self, m); },
    [self](follow_workloads& m) { follow_in_pages(self, std::move(m.follower)); },
    [self](const prepare<workload_parts>& m) { return ask<absl::Status>(self, m); },
    [self](const release_hold& m) { tell(self, m); },
    [self](const apply_parts<workload_parts>& m) { return ask<absl::Status>(self, m); },
    [self](const withdraw& m) { return ask<absl::Status>(self, m); },
    [self](const note_placements& m) { return ask<absl::Status>(self, m); },
    [](const meet_nodes&) {},
    [](const node_delta&) {},
    [self](const drop_votes& m) { tell(self, m); },
    [self](count_holds m) { return ask<std::size_t>(self, m); },
    [self](confirm_ownership m) { return ask<absl::Status>(self, m); },
  };
}

queue_shard_actor::behavior_type queue_shard_proxy(proxy_pointer<queue_shard_actor> self,
                                                   peer_link_actor link, std::string shard) {
  begin(self, std::move(link), std::move(shard));
  listen(self);
  return {
    [self](const put_catalog& m) { return ask<absl::Status>(self, m); },
    [self](const remove_catalog& m) { return ask<absl::Status>(self, m); },
    [self](const lend<put_catalog>& m) { return ask<lent_result>(self, m); },
    [self](const lend<remove_catalog>& m) { return ask<lent_result>(self, m); },
    [self](const lent_end& m) { return ask<absl::Status>(self, m); },
    [self](follow_catalog& m) {
      follow<catalog_update>(self, peer_kinds::follow, std::move(m.follower));
    },
    [self](follow_quota& m) {
      // The other side asks as well as tells.
      auto deliver = [system = &self->home_system(), holder = std::move(m.holder)](
                       peer_envelope& letter, const peer_answer& answer) {
        pass_to_holder(*system, holder, letter, answer);
      };
      self->send(self->state.link, follow_peer{{self->state.shard,
                                                peer_kinds::follow_quota,
                                                fmt::format("{} {}", m.epoch, m.resource_group),
                                                {}},
                                               std::move(deliver)});
    },
    [self](const quota_report& m) { tell(self, m); },
    [self](read_queues m) { return ask<by_name<queue_status>>(self, m); },
    [self](confirm_ownership m) { return ask<absl::Status>(self, m); },
  };
}

coordinator_actor::behavior_type coordinator_proxy(proxy_pointer<coordinator_actor> self,
                                                   peer_link_actor link, std::string shard) {
  begin(self, std::move(link), std::move(shard));
  listen(self);
  // All but the questions come from those who run beside the coordinator.
  return {
    [](const node_delta&) {},
    [](const workload_delta&) {},
    [](const catalog_update&) {},
    [](const decision_moved&) {},
    [](const victims_told&) {},
    [](const decision_ended&) {},
    [](const quota_grants&) {},
    [](const lower_grants&) { return quota_grants{}; },
    [](const meet_queues&) {},
    [self](const why_pending& m) { return ask<std::string>(self, m); },
    [self](const read_group& m) { return ask<read_group_result>(self, m); },
  };
}

event_follower_actor::behavior_type event_log_proxy(proxy_pointer<event_follower_actor> self,
                                                    peer_link_actor link, std::string shard) {
  begin(self, std::move(link), std::move(shard));
  return {
    [self](const event& m) { tell(self, m); },
  };
}

} // namespace reprieve
