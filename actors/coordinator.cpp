#include "actors/coordinator.hpp"

#include "actors/coordinator_snapshot.hpp"
#include "actors/scheduling_cycle.hpp"

#include <algorithm>

namespace reprieve {

bool knows_enough(const coordinator_state& state) {
  const auto& shards = *state.settings.shards;
  return state.known && state.seen_shards.size() == shards.nodes.size() + shards.workloads.size();
}

namespace {

using self_pointer = coordinator_pointer;

/// Gives up the decisions that lost their ground: a preemptor that is not wanted any more, a node
/// that takes no pods (DESIGN 3.2).
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
    self->send(found->second.actor, cancel_decision{std::move(one.reason)});
  }
}

/// Gives up nominations whose pods could start elsewhere at once: they do so in the cycle after
/// (DESIGN 3.2). Looks at a few of them whenever room came free, in turn.
void move_to_free_room(self_pointer self) {
  constexpr std::size_t most_at_once = 8;
  auto& state = self->state;
  if (!state.mirror.room_came_free())
    return;
  plan_settings settings;
  settings.now = state.settings.clock.now(self);
  settings.explained = depth::summary;
  if (const auto* group = find(state.known->groups, state.settings.resource_group))
    settings.group = *group;
  auto next = state.decisions.upper_bound(state.last_reviewed);
  for (std::size_t i = 0; i < std::min(most_at_once, state.decisions.size()); ++i, ++next) {
    if (next == state.decisions.end())
      next = state.decisions.begin();
    const auto& [id, one] = *next;
    state.last_reviewed = id;
    if (one.phase != decision_phase::committed)
      continue;
    if (auto why = state.mirror.where_else(id, settings); !why.empty())
      self->send(one.actor, cancel_decision{std::move(why)});
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

/// Agrees to less, but not to less than is spent.
quota_grants lower(coordinator_state& state, const lower_grants& asked) {
  quota_grants kept;
  for (const auto& [queue, amounts] : asked.queues) {
    const auto* used = find(state.mirror.usage(), queue);
    auto& granted = (*state.grants)[queue];
    for (const auto& [resource, amount] : amounts) {
      const auto spent = used == nullptr ? 0 : amount_of(used->staying, resource);
      granted[resource] = std::min(granted[resource], std::max(amount, spent));
      kept.queues[queue][resource] = granted[resource];
    }
  }
  return kept;
}

/// Takes pods back from a queue: those of the chosen that are still there and do not go yet.
void take_back(self_pointer self, reclaim& order) {
  auto& state = self->state;
  std::erase_if(order.victims, [&](const victim& one) { return !state.mirror.stays(one); });
  if (order.victims.empty())
    return;
  decision_settings settings;
  auto& what = settings.what;
  what.id = new_decision_id(state);
  what.resource_group = state.settings.resource_group;
  what.queue = std::move(order.queue);
  what.policy = "queues";
  what.decided = state.settings.clock.now(self);
  what.victims = std::move(order.victims);
  what.why = std::move(order.why);
  launch(self, std::move(settings));
  wake(self);
}

/// The decision's victims can't come back: those that count on their room ask for it.
void told(self_pointer self, const victims_told& done) {
  auto& state = self->state;
  const auto found = state.decisions.find(done.id);
  if (found == state.decisions.end())
    return;
  found->second.told = true;
  for (const auto& id : std::exchange(found->second.followed_by, {})) {
    const auto next = state.decisions.find(id);
    if (next == state.decisions.end() || next->second.after.erase(done.id) == 0
        || !next->second.after.empty())
      continue;
    next->second.asked = state.settings.clock.now(self);
    self->send(next->second.actor, begin_votes{});
    look_at_votes_later(self);
  }
}

/// Those that count on the room of a decision that is over without having told its victims are to
/// be planned anew.
void give_up_followers(self_pointer self, const coordinator_state::in_flight& over,
                       const std::string& id) {
  for (const auto& follower : over.followed_by)
    if (const auto next = self->state.decisions.find(follower); next != self->state.decisions.end())
      self->send(next->second.actor,
                 cancel_decision{"decision " + id + ", which was to make room, was given up"});
}

/// Follows what the queue shard says.
void meet(self_pointer self) {
  const auto& ours = self->state.settings;
  self->send(ours.queues, follow_catalog{self});
  self->send(ours.queues, follow_quota{ours.resource_group, self, self->state.epoch});
}

void ended(self_pointer self, const decision_ended& over) {
  auto& state = self->state;
  const auto found = state.decisions.find(over.id);
  if (found == state.decisions.end())
    return;
  const bool changed_since = state.changes != found->second.planned_at;
  give_up_followers(self, found->second, over.id);
  state.decisions.erase(found);
  state.running->erase(over.id);
  state.mirror.close(over.id);
  // A refused vote waits for a change. A shard or a store that did not answer is asked again, and
  // so is the queue shard, as other groups may have given room back there.
  if (over.how.ok() || changed_since)
    wake(self);
  else if (!absl::IsFailedPrecondition(over.how))
    cycle_after(self, cycle_retry_delay);
}

} // namespace

coordinator_actor::behavior_type coordinator(self_pointer self, coordinator_settings settings) {
  auto& state = self->state;
  state.settings = std::move(settings);
  state.epoch = state.settings.owner->lasting_epoch();
  self->set_down_handler([self](const caf::down_msg& down) {
    if (down.reason)
      self->quit(down.reason);
  });
  self->attach_functor([running = state.running](const caf::error&) {
    for (const auto& [id, actor] : *running)
      caf::anon_send_exit(actor, caf::exit_reason::kill);
  });
  drop_votes earlier{state.epoch, {}};
  for (const auto& open : state.settings.open)
    earlier.open.insert(open.what.id);
  for (const auto& shard : state.settings.shards->nodes) {
    self->send(shard, earlier);
    self->send(shard, follow_nodes{self});
  }
  for (const auto& shard : state.settings.shards->workloads) {
    self->send(shard, earlier);
    self->send(shard, follow_workloads{self});
  }
  for (auto& open : std::exchange(state.settings.open, {})) {
    decision_settings recovered;
    recovered.what = std::move(open.what);
    recovered.recovered = true;
    recovered.head_revision = open.head_revision;
    recovered.chunks = open.chunks;
    launch(self, std::move(recovered));
  }
  meet(self);
  return {
    [self](node_delta& delta) {
      auto& s = self->state;
      // A shard that begins anew has nothing of what it was told.
      if (!s.seen_shards.insert("n/" + delta.shard).second && delta.everything)
        s.mirror.tell_shards_all();
      for (auto& record : delta.changed)
        s.mirror.put(std::move(record));
      for (const auto& name : delta.removed)
        s.mirror.remove_node(name);
      wake(self);
    },
    [self](workload_delta& delta) {
      auto& s = self->state;
      s.seen_shards.insert("w/" + delta.shard);
      for (auto& record : delta.changed)
        s.mirror.put(std::move(record));
      for (const auto& name : delta.removed)
        s.mirror.remove_workload(name);
      for (const auto& budget : delta.budgets)
        s.mirror.put(budget);
      for (const auto& name : delta.removed_budgets)
        s.mirror.remove_budget(name);
      wake(self);
    },
    [self](catalog_update& update) {
      auto& s = self->state;
      s.known = std::move(update.known);
      if (const auto* group = find(s.known->groups, s.settings.resource_group))
        for (const auto& shard : s.settings.shards->nodes)
          self->send(shard, use_group_limits{group->force_delete_after, group->heartbeat_timeout});
      wake(self);
    },
    [self](const decision_moved& moved) {
      if (auto found = self->state.decisions.find(moved.id); found != self->state.decisions.end())
        found->second.phase = moved.phase;
      if (moved.phase == decision_phase::starting)
        self->state.mirror.starts(moved.id);
      if (moved.phase == decision_phase::aborted)
        self->state.mirror.spare_victims(moved.id);
    },
    [self](const victims_told& done) { told(self, done); },
    [self](const decision_ended& over) { ended(self, over); },
    [self](quota_grants& told) {
      self->state.grants = std::move(told.queues);
      wake(self);
    },
    [self](const lower_grants& asked) { return lower(self->state, asked); },
    [self](const read_queue_pods& asked) {
      auto& s = self->state;
      return queue_pods{s.mirror.pods_in(asked.queues),
                        s.mirror.preempted_lately(s.settings.clock.now(self))};
    },
    [self](reclaim& order) { take_back(self, order); },
    [self](meet_queues& met) {
      self->state.settings.queues = std::move(met.shard);
      self->state.told = {};
      meet(self);
      wake(self);
    },
    [self](run_cycle) {
      if (self->state.running_cycle) // it is followed by another
        return;
      self->state.cycle_due = false;
      if (!knows_enough(self->state))
        return;
      cancel_groundless(self);
      move_to_free_room(self);
      serve_all(self);
    },
    [self](look_at_votes) { end_late_votes(self); },
    [self](const why_pending& asked) -> std::string {
      const auto& because = self->state.waiting_because;
      const auto found = because.find(asked.workload);
      return found == because.end() ? std::string{} : found->second;
    },
    [self](read_group) { return read_state(self); },
  };
}

} // namespace reprieve