#include "actors/node_shard/node_shard.hpp"

#include "actors/interfaces/planted_bug.hpp"
#include "actors/node_shard/lost_nodes.hpp"
#include "actors/node_shard/node_decisions.hpp"
#include "actors/node_shard/node_heartbeats.hpp"
#include "actors/node_shard/node_holds.hpp"
#include "actors/node_shard/node_removal.hpp"
#include "actors/node_shard/node_reports.hpp"
#include "actors/node_shard/node_specs.hpp"
#include "actors/node_shard/node_stops.hpp"
#include "actors/node_shard/node_watch.hpp"
#include "observability/tracing.hpp"

#include <optional>

namespace reprieve {

namespace {

using self_pointer = node_shard_pointer;

/// One of the nodes that are here, as people call it; empty where there is none.
std::optional<object_reference> some_in(const node_shard_state& state) {
  if (auto name = state.records.any(); !name.empty())
    return object_reference{object_kind::node, std::move(name)};
  if (!state.aside.empty())
    return object_reference{object_kind::node, state.aside.begin()->second.name};
  return std::nullopt;
}

void meet(self_pointer self, meet_workloads& met) {
  const bool first = self->state.workloads.empty();
  self->state.workloads = std::move(met.shards);
  // After a start, but not before it can pass on what comes of them. Later, those that were asked
  // to take in an end may have gone before they did.
  if (first)
    repeat_orders(self);
  else
    repeat_ends(self);
  look_at_lost_nodes(self);
}

void tell_everything(self_pointer self, follow_nodes& wanted) {
  auto& state = self->state;
  node_delta everything{state.shard, ++state.deltas, {}, {}, true};
  everything.aside = state.aside.all();
  for (const auto& [name, record] : state.records.durable())
    everything.changed.push_back(record);
  self->send(wanted.follower, std::move(everything));
  add_follower(self, state.followers, std::move(wanted.follower));
}

shard_evaluation answer_evaluation(self_pointer self, const evaluate_nodes& wanted) {
  auto traced = start_span("node_shard.evaluate", wanted.trace);
  auto answer = evaluate(self->state.view.up_to_date(), *wanted.asked);
  traced.set("nodes", answer.nodes);
  return answer;
}

caf::result<absl::Status> answer_vote(self_pointer self, const prepare<node_parts>& asked) {
  auto traced = start_span("node_shard.prepare", asked.trace);
  auto voted = vote(self, asked);
  traced.set("vote", voted.ok() ? "yes" : std::string(voted.message()));
  if (voted.ok() && is_planted(planted_bug::tells_at_prepare))
    tell_too_early(self, asked);
  return voted;
}

void hear_reports(self_pointer self, pod_reports& reports) {
  when_nothing_is_lent(self,
                       [self, reports = std::move(reports)] { receive_reports(self, reports); });
}

void force_when_due(self_pointer self) {
  when_nothing_is_lent(self, [self] { write_records(self, force_due(self)); });
}

void use_limits(self_pointer self, const use_group_limits& wanted) {
  auto& state = self->state;
  state.force_delete_after = wanted.force_delete_after;
  if (std::exchange(state.own_scheduler, wanted.own_scheduler) != wanted.own_scheduler)
    watch_own_nodes(self);
  if (wanted.heartbeat_timeout != state.heartbeat_timeout)
    use_heartbeat_timeout(self, wanted.heartbeat_timeout);
  if (std::exchange(state.lost_node_timeout, wanted.lost_node_timeout)
      != wanted.lost_node_timeout) {
    state.next_look_at_lost = no_time;
    look_at_lost_nodes(self);
  }
}

void use_limits_unlent(self_pointer self, const use_group_limits& wanted) {
  when_nothing_is_lent(self, [self, wanted] { use_limits(self, wanted); });
}

void begin_with(self_pointer self, node_shard_settings settings) {
  auto& state = self->state;
  state.shard = std::move(settings.shard);
  state.records = record_table<node_record>{std::move(settings.records)};
  state.aside = std::move(settings.aside);
  for (const auto& [name, record] : state.records.durable())
    state.view.put(record);
  state.view.up_to_date(); // not when the first decision waits for it
  state.holds =
    holds_of<node_parts>(state.shard, settings.ledger, settings.hold_time, settings.clock);
  state.holds.gone = [self](const std::string&, const node_parts& parts) {
    check_room_on(self, nodes_of(parts));
    continue_changes(self);
  };
  state.ledger = ledger{std::move(settings.ledger)};
  state.cluster = std::move(settings.cluster);
  state.force_delete_after = settings.force_delete_after;
  state.clock = settings.clock;
  state.events = std::move(settings.events);
  index_decisions(state);
  self->set_down_handler(
    [self](const caf::down_msg& down) { drop_follower(self->state.followers, down); });
  state.left_behind = std::move(settings.left_behind);
  state.lost_node_timeout = settings.lost_node_timeout;
  for (const auto& [name, record] : state.records.durable())
    if (record->status.lost || record->status.pods_lost)
      state.away.insert(name);
  use_heartbeat_timeout(self, settings.heartbeat_timeout);
  look_at_lost_nodes(self);
}

} // namespace

private_node_shard_actor::behavior_type node_shard(self_pointer self,
                                                   node_shard_settings settings) {
  begin_with(self, std::move(settings));
  return {
    [self](put_nodes& wanted) { return make_when_nothing_is_lent(self, wanted, put_all); },
    [self](remove_nodes& wanted) { return make_when_nothing_is_lent(self, wanted, remove); },
    [self](const lend<put_nodes>& wanted) { return make_for_bundle(self, wanted, put_all); },
    [self](const lend<remove_nodes>& wanted) { return make_for_bundle(self, wanted, remove); },
    [self](const lend<close_shard>& wanted) {
      return close_for(self, wanted, [self] { return some_in(self->state); });
    },
    [self](const lent_end& end) { return end_lent(self, end); },
    [self](stop_pods& wanted) { return make_when_nothing_is_lent(self, wanted, stop_undecided); },
    [self](meet_workloads& met) { meet(self, met); },
    [self](repeat_more_orders) { ask_about_some(self); },
    [self](follow_nodes& wanted) { tell_everything(self, wanted); },
    [self](const portion_facts& facts) { self->state.view.know(facts); },
    [self](const evaluate_nodes& wanted) { return answer_evaluation(self, wanted); },
    [self](const prepare<node_parts>& asked) { return answer_vote(self, asked); },
    [self](const release_hold& dropped) { release(self, dropped.decision); },
    [self](apply_parts<node_parts>& committed) {
      return make_when_nothing_is_lent(self, committed, carry_out);
    },
    [self](const await_room& asked) { wait_for_room(self, asked); },
    [self](start_pods& starting) {
      return make_when_nothing_is_lent(self, starting, start_nominated);
    },
    [self](withdraw& dropped) {
      return make_when_nothing_is_lent(self, dropped, take_back_effects);
    },
    [self](pod_reports& reports) { hear_reports(self, reports); },
    [self](look_at_stops) { force_when_due(self); },
    [self](const use_group_limits& wanted) { use_limits_unlent(self, wanted); },
    [self](const heartbeat_request& alive) { return hear(self, alive); },
    [self](look_at_silence due) { find_silent(self, due); },
    [self](look_at_lost due) { look_at_lost_nodes(self, due); },
    [self](look_at_holds) { take_back_due_holds(self); },
    [self](const drop_votes& order) { drop_earlier_votes(self, order); },
    [self](count_holds) { return self->state.holds.held.size(); },
    [self](confirm_ownership) { return confirm_shard(self); },
    [self](ledger_flush) { flush_ledger(self); },
    [self](ledger_retry due) { retry_ledger(self, due); },
  };
}

} // namespace reprieve
