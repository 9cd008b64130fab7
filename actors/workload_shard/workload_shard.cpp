#include "actors/workload_shard/workload_shard.hpp"

#include "actors/workload_shard/workload_budgets.hpp"
#include "actors/workload_shard/workload_closing.hpp"
#include "actors/workload_shard/workload_counts.hpp"
#include "actors/workload_shard/workload_ends.hpp"
#include "actors/workload_shard/workload_evictions.hpp"
#include "actors/workload_shard/workload_holds.hpp"
#include "actors/workload_shard/workload_specs.hpp"
#include "observability/tracing.hpp"

namespace reprieve {

namespace {

using self_pointer = workload_shard_pointer;

void tell_everything(self_pointer self, follow_workloads& wanted) {
  auto& state = self->state;
  workload_delta everything;
  everything.shard = state.shard;
  everything.number = ++state.deltas;
  everything.everything = true;
  for (const auto& [name, record] : state.workloads.durable())
    everything.changed.push_back(record);
  for (const auto& [name, record] : state.budgets.durable())
    everything.budgets.push_back(*record);
  for (const auto& [name, record] : state.placements.durable())
    everything.placements.push_back(*record);
  everything.aside = state.aside.all();
  self->send(wanted.follower, std::move(everything));
  add_follower(self, state.followers, std::move(wanted.follower));
}

caf::result<absl::Status> answer_vote(self_pointer self, const prepare<workload_parts>& asked) {
  auto traced = start_span("workload_shard.prepare", asked.trace);
  auto voted = vote(self, asked);
  traced.set("vote", voted.ok() ? "yes" : std::string(voted.message()));
  return voted;
}

void drop_hold(self_pointer self, const std::string& decision) {
  self->state.evicting.erase(decision);
  release(self, decision);
}

void drop_votes_of_earlier(self_pointer self, const drop_votes& order) {
  drop_earlier_votes(self, order);
  forget_earlier_evictions(self->state, order);
}

void begin_with(self_pointer self, workload_shard_settings settings) {
  auto& state = self->state;
  state.shard = std::move(settings.shard);
  state.workloads = record_table<workload_record>{std::move(settings.workloads)};
  state.budgets = record_table<disruption_budget>{std::move(settings.budgets)};
  state.placements = record_table<placement>{std::move(settings.placements)};
  state.aside = std::move(settings.aside);
  state.salvaged = std::move(settings.salvaged);
  state.epoch = settings.ledger.owner->lasting_epoch();
  state.holds =
    holds_of<workload_parts>(state.shard, settings.ledger, settings.hold_time, settings.clock);
  state.holds.gone = [self](const std::string&, const workload_parts&) { continue_changes(self); };
  state.ledger = ledger{std::move(settings.ledger)};
  state.clock = settings.clock;
  for (const auto& [name, budget] : state.budgets.durable())
    state.counted.put(*budget);
  self->set_down_handler(
    [self](const caf::down_msg& down) { drop_follower(self->state.followers, down); });
}

} // namespace

private_workload_shard_actor::behavior_type workload_shard(self_pointer self,
                                                           workload_shard_settings settings) {
  begin_with(self, std::move(settings));
  return {
    [self](put_workloads& wanted) {
      return make_when_nothing_is_lent(self, wanted, put_when_free);
    },
    [self](remove_workloads& wanted) {
      return make_when_nothing_is_lent(self, wanted, remove_when_free);
    },
    [self](const lend<put_workloads>& wanted) {
      return make_for_bundle(self, wanted, put_when_free);
    },
    [self](const lend<remove_workloads>& wanted) {
      return make_for_bundle(self, wanted, remove_when_free);
    },
    [self](const lend<close_shard>& wanted) { return close_for_others(self, wanted); },
    [self](const lent_end& end) { return end_lent(self, end); },
    [self](forget_workloads& ended) {
      return make_when_nothing_is_lent(self, ended, forget_deleted);
    },
    [self](slots_ended& ended) { return make_when_nothing_is_lent(self, ended, end_slots); },
    [self](follow_workloads& wanted) { tell_everything(self, wanted); },
    [self](const prepare<workload_parts>& asked) { return answer_vote(self, asked); },
    [self](const release_hold& dropped) { drop_hold(self, dropped.decision); },
    [self](apply_parts<workload_parts>& committed) {
      return make_when_nothing_is_lent(self, committed, carry_out);
    },
    [self](withdraw& dropped) {
      return make_when_nothing_is_lent(self, dropped, take_back_effects);
    },
    [self](note_placements& noted) { return make_when_nothing_is_lent(self, noted, note_counts); },
    [self](meet_nodes& there) { count_pods_of(self, there); },
    [self](node_delta& delta) { count(self, delta); },
    [self](look_at_holds) { take_back_due_holds(self); },
    [self](const drop_votes& order) { drop_votes_of_earlier(self, order); },
    [self](count_holds) { return self->state.holds.held.size(); },
    [self](confirm_ownership) { return confirm_shard(self); },
    [self](ledger_flush) { flush_ledger(self); },
    [self](ledger_retry due) { retry_ledger(self, due); },
  };
}

} // namespace reprieve
