#include "actors/coordinator/lifecycle_coordination.hpp"

#include "actors/coordinator/scheduling_cycle.hpp"
#include "actors/interfaces/placement_changes.hpp"
#include "protocol/records/records.hpp"
#include "state/model/queue_limits.hpp"
#include "state/records/keys.hpp"

#include <algorithm>

namespace reprieve {

namespace {

using self_pointer = coordinator_pointer;

const resource_group* group_of(const coordinator_state& state) {
  return state.known ? find(state.known->groups, state.settings.resource_group) : nullptr;
}

bool is_on(const coordinator_state& state) {
  const auto* group = group_of(state);
  return group != nullptr && group->policy == group_policy::lifecycle
         && state.settings.owner->schema() >= schema_with_counts;
}

/// The placements here by deployment: the first by name, should somebody have made more of them.
std::map<std::string_view, const placement*> shares_of(const coordinator_state& state) {
  std::map<std::string_view, const placement*> found;
  for (const auto& [name, one] : state.mirror.placements())
    if (one.cluster == state.settings.resource_group)
      found.try_emplace(one.deployment, &one);
  return found;
}

// -- decisions that change counts -----------------------------------------------------------------

bool is_given_up(const coordinator_state& state, const std::string& decision) {
  const auto found = state.decisions.find(decision);
  return found == state.decisions.end() || found->second.given_up;
}

/// Deployments whose pods a decision may have stopped while its counts are not known here. The
/// cluster would take the old count for an order to replace these pods.
std::set<std::string_view> being_counted(const coordinator_state& state) {
  std::set<std::string_view> found;
  for (const auto& [id, counts] : state.lifecycle.open)
    if (const auto open = state.decisions.find(id);
        open != state.decisions.end() && open->second.after.empty())
      for (const auto& change : counts)
        found.insert(change.deployment);
  return found;
}

// -- what the cluster is told ---------------------------------------------------------------------

count_order order_for(const coordinator_state& state, const workload_record& record,
                      std::int32_t count) {
  count_order order;
  order.resource_group = state.settings.resource_group;
  auto replica = pod_at(record.spec, record.status, 0, 0, 0, 0);
  replica.uid.clear();
  replica.name.clear();
  replica.protected_member = false;
  order.what = std::make_shared<const shared_pod>(std::move(replica));
  order.uid = record.status.uid;
  order.node_selector = record.spec->groups.front().pods.node_selector;
  order.tolerations = record.spec->groups.front().pods.tolerations;
  order.count = count;
  order.epoch = state.epoch;
  return order;
}

bool same(const count_order& a, const count_order& b) {
  return a.what->what() == b.what->what() && a.uid == b.uid && a.node_selector == b.node_selector
         && a.tolerations == b.tolerations && a.count == b.count && a.first_to_go == b.first_to_go;
}

void give(self_pointer self, const std::string& deployment, count_order order) {
  auto& told = self->state.lifecycle.ordered;
  if (const auto known = told.find(deployment); known != told.end() && same(known->second, order))
    return;
  self->send(self->state.settings.cluster, order);
  told.insert_or_assign(deployment, std::move(order));
}

/// Says which deployments are counted, at first and when there are fewer: of what was told by
/// others before nothing is left over then.
void order_only(self_pointer self, std::vector<std::string> counted) {
  auto& ours = self->state.lifecycle;
  std::ranges::sort(counted);
  const auto gone = std::erase_if(
    ours.ordered, [&](const auto& one) { return !std::ranges::binary_search(counted, one.first); });
  if (std::exchange(ours.ordered_at_all, true) && gone == 0)
    return;
  const auto& settings = self->state.settings;
  self->send(settings.cluster,
             count_only{settings.resource_group, std::move(counted), self->state.epoch});
}

/// The counts that are durable. Those that a decision changes are told when all of it is known
/// here, so that it is known who is expected to go. What was told before a start is told again, as
/// nobody knows whether it was heard.
void order_counts(self_pointer self) {
  auto& state = self->state;
  std::vector<std::string> counted;
  const auto expected = state.mirror.expected_to_go();
  const auto shares = shares_of(state);
  const auto changing = being_counted(state);
  for (const auto& record : state.mirror.counted_deployments()) {
    const auto& name = record->spec->name;
    counted.push_back(name);
    const auto share = shares.find(name);
    if (!record->deleting && (share == shares.end() || changing.contains(name)))
      continue;
    auto order = order_for(state, *record, record->deleting ? 0 : share->second->committed);
    if (const auto going = expected.find(name); going != expected.end())
      order.first_to_go = going->second;
    give(self, name, std::move(order));
  }
  order_only(self, std::move(counted));
}

/// Placements that were made here go with their deployments. One that comes before its deployment
/// is heard of, by somebody who applies both, is not taken for one that was left over.
void remove_orphans(self_pointer self) {
  constexpr std::chrono::seconds until_it_is_one{2};
  auto& state = self->state;
  const auto now = state.settings.clock.now(self);
  const auto shards = static_cast<std::uint32_t>(state.settings.shards->workloads.size());
  std::map<std::string, time_point, std::less<>> orphans;
  for (const auto& [name, one] : state.mirror.placements()) {
    if (name != own_placement_name(one.deployment, one.cluster))
      continue;
    if (state.mirror.find_workload(one.deployment)) {
      state.lifecycle.had_deployment.insert(name);
      continue;
    }
    const auto known = state.lifecycle.orphans.find(name);
    const auto since = known == state.lifecycle.orphans.end() ? now : known->second;
    orphans.emplace(name, since);
    const bool had_one = state.lifecycle.had_deployment.erase(name) > 0;
    if (!had_one && now < since + until_it_is_one)
      try_again_at(self, since + until_it_is_one);
    else
      self
        ->request(state.settings.shards->workloads[shard_number(name, shards)], answer_time,
                  remove_workloads{object_kind::placement, {name}})
        .then([](absl::Status&) {}, [](caf::error&) {});
  }
  state.lifecycle.orphans = std::move(orphans);
}

// -- a cycle --------------------------------------------------------------------------------------

lifecycle_cycle_input input_of(self_pointer self) {
  auto& state = self->state;
  lifecycle_cycle_input in;
  in.cluster = *group_of(state);
  in.now = state.settings.clock.now(self);
  in.pods = state.mirror.lifecycle_pods();
  if (in.cluster.limits.preemptions_per_workload_per_hour)
    in.recent_preemptions = state.mirror.recent_preemptions(in.now);
  for (const auto& [name, one] : state.mirror.placements())
    in.placements.push_back(as_decided(state, one));
  for (const auto& record : state.mirror.counted_deployments()) {
    if (record->deleting)
      continue;
    auto& one = in.deployments.emplace_back();
    one.who.name = record->spec->name;
    one.who.priority = record->status.resolved.priority;
    one.who.may_preempt = record->status.resolved.may_preempt;
    one.who.submitted = record->status.submitted;
    one.who.pods = record->spec->groups.front().pods;
    one.queue = record->spec->queue;
    one.wanted = replicas_wanted(record->spec);
  }
  in.queues = queues_of_group(state);
  in.queues->pending = state.mirror.line().asked();
  return in;
}

void decide(self_pointer self, lifecycle_step step) {
  auto& state = self->state;
  decision_settings settings;
  auto& decided = settings.decision;
  decided.id = new_decision_id(state);
  decided.resource_group = state.settings.resource_group;
  decided.workloads = std::move(step.deployments);
  decided.priority = step.priority;
  decided.policy = "lifecycle";
  decided.victims = std::move(step.victims);
  decided.counts = std::move(step.counts);
  decided.force_deletes = std::move(step.force_deletes);
  decided.why = std::move(step.why);
  decided.scored = step.scored;
  decided.decided = state.settings.clock.now(self);
  decided.at_once = true;
  for (const auto& name : decided.workloads)
    if (const auto record = state.mirror.find_workload(name))
      settings.generations[name] = record->status.generation;
  launch(self, std::move(settings));
}

/// Has placements remember what no decision is about.
void note(self_pointer self, std::vector<placement> remembered) {
  auto& state = self->state;
  const auto& shards = state.settings.shards->workloads;
  std::map<std::uint32_t, note_placements> by_shard;
  for (auto& one : remembered) {
    const auto number = shard_number(one.name, static_cast<std::uint32_t>(shards.size()));
    by_shard[number].placements.push_back(std::move(one));
  }
  for (auto& [number, noted] : by_shard) {
    ++state.lifecycle.notes;
    const auto again = [self] {
      --self->state.lifecycle.notes;
      cycle_after(self, cycle_retry_delay);
    };
    self->request(shards[number], answer_time, std::move(noted))
      .then(
        [self, again](absl::Status& done) {
          if (!done.ok()) {
            again();
            return;
          }
          --self->state.lifecycle.notes;
          wake(self);
        },
        [again](caf::error&) { again(); });
  }
}

} // namespace

placement as_decided(const coordinator_state& state, placement share) {
  for (const auto& [id, counts] : state.lifecycle.open)
    if (!is_given_up(state, id))
      for (const auto& change : counts)
        if (change.placement == share.name)
          share = after(&share, change);
  return share;
}

void tell_group_limits(self_pointer self) {
  auto& state = self->state;
  if (const auto* group = group_of(state))
    for (const auto& shard : state.settings.shards->nodes)
      self->send(shard, use_group_limits{group->force_delete_after, group->heartbeat_timeout,
                                         is_on(state), group->lost_node_timeout});
}

void run_lifecycle(self_pointer self) {
  auto& state = self->state;
  auto& ours = state.lifecycle;
  const bool on = is_on(state);
  if (std::exchange(ours.on, on) != on)
    tell_group_limits(self); // a replica of an earlier version may have been replaced by now
  state.mirror.leave_replicas_to_cluster(on);
  if (on || (ours.open.empty() && (!ours.ordered.empty() || !ours.ordered_at_all)))
    order_counts(self);
  if (!on) {
    ours.waiting.clear();
    ours.needs = {};
    return;
  }
  const auto input = input_of(self);
  auto outcome = run_lifecycle_cycle(state.mirror.view(), input);
  ours.waiting = std::move(outcome.waiting);
  ours.needs = std::move(outcome.needs);
  if (!state.grants)
    return; // they bring the next cycle
  if (is_counting(state)) {
    ++state.changes; // so that their end brings the next cycle, however they end
    return;
  }
  remove_orphans(self);
  for (auto& step : outcome.steps)
    decide(self, std::move(step));
  note(self, std::move(outcome.remembered));
  if (outcome.look_again != no_time)
    try_again_at(self, outcome.look_again);
}

bool end_counting(self_pointer self, const std::string& decision) {
  auto& ours = self->state.lifecycle;
  if (ours.open.erase(decision) == 0)
    return false;
  if (ours.on)
    order_counts(self);
  return true;
}

bool is_counting(const coordinator_state& state) {
  return !state.lifecycle.open.empty() || state.lifecycle.notes > 0;
}

std::string why_replicas_wait(const coordinator_state& state, std::string_view deployment) {
  const auto found = state.lifecycle.waiting.find(deployment);
  return found == state.lifecycle.waiting.end() ? std::string{} : found->second;
}

void add_needs_of_replicas(const coordinator_state& state, by_name<quota_need>& needs) {
  for (const auto& [queue, amounts] : state.lifecycle.needs.pending) {
    add_to(needs[queue].pending, amounts);
    add_to(needs[queue].blocked, amounts);
  }
  for (const auto& [queue, amounts] : state.lifecycle.needs.coming)
    add_to(needs[queue].used.staying, amounts);
}

void count_replicas(coordinator_state& state, decision_settings& settings) {
  auto& decided = settings.decision;
  if (state.lifecycle.on && !settings.recovered && decided.counts.empty()) {
    std::map<std::string, std::int32_t> lost; // by deployment
    for (auto& one : decided.victims)
      for (const auto& p : one.pods)
        if (state.mirror.is_replica(p)) {
          one.counted = true;
          ++lost[one.portion.workload];
        }
    const auto shares = lost.empty() ? decltype(shares_of(state)){} : shares_of(state);
    for (const auto& [name, count] : lost)
      if (const auto found = shares.find(name); found != shares.end()) {
        const auto share = as_decided(state, *found->second);
        decided.counts.push_back({share.name, name, share.cluster, share.committed,
                                  std::max(share.committed - count, 0), share.preempted,
                                  share.nominations});
      }
  }
  if (!decided.counts.empty())
    state.lifecycle.open.emplace(decided.id, decided.counts);
}

std::set<std::string> to_count_before(const coordinator_state& state, const decision& what) {
  std::set<std::string> found;
  const auto& open = state.lifecycle.open;
  for (const auto& change : what.counts)
    for (auto one = open.rbegin(); one != open.rend(); ++one) {
      const auto& [id, counts] = *one;
      if (id == what.id
          || std::ranges::find(counts, change.placement, &count_change::placement) == counts.end())
        continue;
      found.insert(id);
      if (!is_given_up(state, id))
        break; // it waits for those before it
    }
  return found;
}

} // namespace reprieve
