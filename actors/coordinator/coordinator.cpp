#include "actors/coordinator/coordinator.hpp"

#include "actors/coordinator/coordinator_grants.hpp"
#include "actors/coordinator/coordinator_snapshot.hpp"
#include "actors/coordinator/scheduling_cycle.hpp"
#include "state/records/keys.hpp"

#include <algorithm>

namespace reprieve {

bool knows_enough(const coordinator_state& state) {
  const auto& shards = *state.settings.shards;
  return state.known && state.seen_shards.size() == shards.nodes.size() + shards.workloads.size();
}

namespace {

using self_pointer = coordinator_pointer;

/// Gives up the decisions that lost their ground: a preemptor that is not wanted any more, a node
/// that takes no pods (docs/policies.md#delayed-actuation).
void cancel_groundless(self_pointer self) {
  auto& state = self->state;
  const auto* group = find(state.known->groups, state.settings.resource_group);
  const auto limit = group == nullptr ? duration{0} : group->force_delete_after;
  const auto now = state.settings.clock.now(self);
  if (const auto next = state.mirror.look_for_stuck(now, limit); next != no_time)
    try_again_at(self, next);
  for (auto& one : state.mirror.groundless()) {
    const auto found = state.decisions.find(one.id);
    if (found == state.decisions.end() || found->second.phase == decision_phase::starting)
      continue;
    give_up(self, one.id, std::move(one.reason));
  }
}

/// Ends the wait for votes that did not come.
void end_late_votes(self_pointer self) {
  auto& state = self->state;
  const auto now = state.settings.clock.now(self);
  auto next = time_point::max();
  for (const auto& [id, one] : state.decisions) {
    if (one.phase != decision_phase::preparing || !one.after.empty())
      continue;
    if (one.asked + answer_time <= now)
      self->send(one.actor, votes_due{});
    else
      next = std::min(next, one.asked + answer_time);
  }
  state.looks_at_votes = next != time_point::max();
  if (state.looks_at_votes)
    self->delayed_send(self, next - now, look_at_votes{});
}

} // namespace

bool may_run_cycle(self_pointer self) {
  return knows_enough(self->state) && !awaits_grants(self) && !awaits_lowering(self);
}

namespace {

/// The workload is another by now, or gone: nothing is known of it any more.
void take_up(coordinator_state& state, const std::string& workload) {
  if (state.unwritten.empty())
    return;
  state.unwritten.forget(workload);
  state.mirror.put_aside(workload, false);
}

void take_up_if_another(coordinator_state& state, const workload_record& next) {
  if (state.unwritten.empty())
    return;
  const auto before = state.mirror.find_workload(next.spec->name);
  if (!before || before->status.generation != next.status.generation
      || before->status.uid != next.status.uid)
    take_up(state, next.spec->name);
}

/// These need not wait for that decision any more: who waits for no other asks for its votes.
void let_go_on(self_pointer self, const std::vector<std::string>& waiting, const std::string& id) {
  auto& state = self->state;
  for (const auto& one : waiting) {
    const auto next = state.decisions.find(one);
    if (next == state.decisions.end() || next->second.after.erase(id) == 0
        || !next->second.after.empty())
      continue;
    next->second.asked = state.settings.clock.now(self);
    self->send(next->second.actor, begin_votes{});
    look_at_votes_later(self);
  }
}

/// The decision's victims can't come back: those that count on their room ask for it.
void count_on_room_of(self_pointer self, const victims_told& done) {
  auto& state = self->state;
  const auto found = state.decisions.find(done.id);
  if (found == state.decisions.end())
    return;
  found->second.told = true;
  if (end_counting(self, done.id))
    wake(self);
  const auto waiting = std::exchange(found->second.followed_by, {});
  let_go_on(self, waiting, done.id);
}

/// Those that counted on what did not come are to be planned anew.
void give_up_all(self_pointer self, const std::vector<std::string>& waiting,
                 const std::string& reason) {
  for (const auto& one : waiting)
    give_up(self, one, reason);
}

std::string had_started(const std::string& id) {
  return "decision " + id + ", which was to be given up, had started";
}

/// The decision's pods start, even if it was to be given up.
void starts(self_pointer self, const std::string& id) {
  auto& state = self->state;
  state.mirror.starts(id);
  await_no_more(state, id);
  const auto found = state.decisions.find(id);
  if (found == state.decisions.end() || !std::exchange(found->second.given_up, false))
    return;
  state.giving_up.erase(id);
  const auto waiting = std::exchange(found->second.awaited_by, {});
  give_up_all(self, waiting, had_started(id));
}

/// Follows what the queue shard says.
void meet(self_pointer self) {
  const auto& ours = self->state.settings;
  self->send(ours.queues, follow_catalog{self});
  self->send(ours.queues, follow_quota{ours.resource_group, self, self->state.epoch});
}

/// Takes keys away that keep decisions of an earlier epoch from being committed, as the epoch does
/// that by now.
void unbar_earlier(self_pointer self) {
  constexpr std::size_t at_once = 100;
  auto& state = self->state;
  const auto& owner = *state.settings.owner;
  transaction erased{{owner.held()}, {}};
  std::vector<std::string> ids;
  for (const auto& [id, epoch] : state.barred)
    if (epoch != owner.epoch() && ids.size() < at_once) {
      erased.operations.emplace_back(erase{just(keys::barred_decision(id))});
      ids.push_back(id);
    }
  if (ids.empty())
    return;
  for (const auto& id : ids)
    state.barred.erase(id);
  self->request(state.settings.store, caf::infinite, std::move(erased))
    .then([](transaction_answer&) {}, [](caf::error&) {});
}

void ended(self_pointer self, const decision_ended& over) {
  auto& state = self->state;
  if (over.barred)
    state.barred.emplace(over.id, state.settings.owner->epoch());
  unbar_earlier(self);
  const auto found = state.decisions.find(over.id);
  if (found == state.decisions.end())
    return;
  await_no_more(state, over.id);
  const bool changed_since = state.changes != found->second.planned_at;
  const auto gone = std::move(found->second);
  state.decisions.erase(found);
  state.giving_up.erase(over.id);
  end_counting(self, over.id); // before others begin that change the same counts
  if (over.how.ok())
    state.unwritten.succeeded(gone.workloads);
  else if (absl::IsInvalidArgument(over.how))
    put_aside(self, gone.workloads, gone.pods, gone.whole, std::string(over.how.message()));
  if (over.how.ok()) {
    let_go_on(self, gone.followed_by, over.id);
    give_up_all(self, gone.awaited_by, had_started(over.id));
  } else {
    give_up_all(self, gone.followed_by,
                "decision " + over.id + ", which was to come first, was given up");
    let_go_on(self, gone.awaited_by, over.id);
  }
  state.running->erase(over.id);
  state.mirror.close(over.id);
  // A refused vote waits for a change. A shard or a store that did not answer is asked again, and
  // so is the queue shard, as other groups may have given room back there.
  if (over.how.ok() || changed_since)
    wake(self);
  else if (absl::IsInvalidArgument(over.how))
    wake(self); // for others it makes room, and it comes in smaller parts itself
  else if (!absl::IsFailedPrecondition(over.how))
    cycle_after(self, cycle_retry_delay);
}

/// What of the shard can't be read, by what it tells; what it tells of later can be.
void know_aside(group_mirror& mirror, const node_delta& delta) {
  const auto shard = "n/" + delta.shard;
  if (delta.everything) {
    mirror.know_aside(shard, objects_aside{delta.aside});
    return;
  }
  for (const auto& record : delta.changed)
    mirror.know_readable(shard, object_kind::node, record->spec->name);
  for (const auto& name : delta.removed)
    mirror.know_readable(shard, object_kind::node, name);
}

void know_aside(group_mirror& mirror, const workload_delta& delta) {
  const auto shard = "w/" + delta.shard;
  if (delta.everything) {
    mirror.know_aside(shard, objects_aside{delta.aside});
    return;
  }
  for (const auto& record : delta.changed)
    mirror.know_readable(shard, object_kind::workload, record->spec->name);
  for (const auto& name : delta.removed)
    mirror.know_readable(shard, object_kind::workload, name);
}

void learn(self_pointer self, node_delta& delta) {
  auto& state = self->state;
  // A shard that begins anew has nothing of what it was told.
  if (!state.seen_shards.insert("n/" + delta.shard).second && delta.everything)
    state.mirror.tell_shards_all();
  know_aside(state.mirror, delta);
  for (auto& record : delta.changed)
    state.mirror.put(std::move(record));
  for (const auto& name : delta.removed)
    state.mirror.remove_node(name);
  wake(self);
}

void learn(self_pointer self, workload_delta& delta) {
  auto& state = self->state;
  state.seen_shards.insert("w/" + delta.shard);
  know_aside(state.mirror, delta);
  for (auto& record : delta.changed) {
    take_up_if_another(state, *record);
    state.mirror.put(std::move(record));
  }
  for (const auto& name : delta.removed) {
    take_up(state, name);
    state.mirror.remove_workload(name);
    std::erase_if(state.reserved, [&](const auto& one) { return one.second.workload == name; });
  }
  for (const auto& budget : delta.budgets)
    state.mirror.put(budget);
  for (const auto& name : delta.removed_budgets)
    state.mirror.remove_budget(name);
  for (const auto& share : delta.placements)
    state.mirror.put(share);
  for (const auto& name : delta.removed_placements)
    state.mirror.remove_placement(name);
  wake(self);
}

void learn(self_pointer self, catalog_update& update) {
  auto& state = self->state;
  state.rules_changed = state.rules_changed || !state.known || *state.known != *update.known;
  expect_grants(self, update.known->queues);
  state.known = std::move(update.known);
  tell_group_limits(self);
  wake(self);
}

void follow_decision(self_pointer self, const decision_moved& moved) {
  if (auto found = self->state.decisions.find(moved.id); found != self->state.decisions.end())
    found->second.phase = moved.phase;
  if (moved.phase == decision_phase::starting)
    starts(self, moved.id);
  if (moved.phase == decision_phase::aborted)
    self->state.mirror.spare_victims(moved.id);
}

void meet(self_pointer self, meet_queues& met) {
  self->state.settings.queues = std::move(met.shard);
  self->state.told = {};
  meet(self);
  wake(self);
}

void run_due_cycle(self_pointer self) {
  auto& state = self->state;
  if (state.running_cycle) // it is followed by another
    return;
  state.cycle_due = false;
  if (!may_run_cycle(self)) {
    for (const auto due : {state.grants_due, state.lowering_due})
      if (due > state.settings.clock.now(self))
        try_again_at(self, due);
    return;
  }
  state.grants_due = no_time;
  run_lifecycle(self);
  cancel_groundless(self);
  serve_all(self);
}

std::string answer_why(self_pointer self, const why_pending& asked) {
  if (auto hidden = self->state.mirror.why_hidden(asked.workload); !hidden.empty())
    return hidden;
  auto why = why_waits(self, asked.workload);
  return why.empty() ? why_replicas_wait(self->state, asked.workload) : why;
}

/// Ends when what it stands on ends, and the decisions with it.
void end_together(self_pointer self) {
  self->set_down_handler([self](const caf::down_msg& down) {
    if (down.reason)
      self->quit(down.reason);
  });
  self->attach_functor([running = self->state.running](const caf::error&) {
    for (const auto& [id, actor] : *running)
      caf::anon_send_exit(actor, caf::exit_reason::kill);
  });
}

/// Follows the group's shards, and has them forget what they voted for those who are gone.
void follow_shards(self_pointer self) {
  auto& state = self->state;
  drop_votes earlier{state.epoch, {}};
  // One that a shard has aborted before it had anything knows nobody who has a vote for it.
  for (const auto& open : state.settings.open)
    if (open.what.phase != decision_phase::aborted || open.chunks > 0)
      earlier.open.insert(open.what.id);
  for (const auto& shard : state.settings.shards->nodes) {
    self->send(shard, earlier);
    self->send(shard, follow_nodes{self});
  }
  for (const auto& shard : state.settings.shards->workloads) {
    self->send(shard, earlier);
    self->send(shard, follow_workloads{self});
  }
}

/// Finishes the decisions that were open in the store.
void launch_open(self_pointer self) {
  for (auto& open : std::exchange(self->state.settings.open, {})) {
    decision_settings recovered;
    recovered.decision = std::move(open.what);
    recovered.recovered = true;
    recovered.head_revision = open.head_revision;
    recovered.chunks = open.chunks;
    recovered.body_bytes = open.body_bytes;
    launch(self, std::move(recovered));
  }
}

} // namespace

private_coordinator_actor::behavior_type coordinator(self_pointer self,
                                                     coordinator_settings settings) {
  auto& state = self->state;
  state.settings = std::move(settings);
  state.epoch = state.settings.owner->lasting_epoch();
  end_together(self);
  follow_shards(self);
  for (auto& id : std::exchange(state.settings.barred, {}))
    state.barred.emplace(std::move(id), 0);
  unbar_earlier(self);
  launch_open(self);
  meet(self);
  return {
    [self](node_delta& delta) { learn(self, delta); },
    [self](workload_delta& delta) { learn(self, delta); },
    [self](catalog_update& update) { learn(self, update); },
    [self](const decision_moved& moved) { follow_decision(self, moved); },
    [self](const victims_told& done) { count_on_room_of(self, done); },
    [self](const decision_ended& over) { ended(self, over); },
    [self](quota_grants& told) { use_grants(self, told); },
    [self](const lower_grants& asked) { return lower(self, asked); },
    [self](meet_queues& met) { meet(self, met); },
    [self](run_cycle) { run_due_cycle(self); },
    [self](look_at_votes) { end_late_votes(self); },
    [self](const why_pending& asked) { return answer_why(self, asked); },
    [self](read_group) { return read_state(self); },
  };
}

} // namespace reprieve
