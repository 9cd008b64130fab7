#include "preemption/policies/queues/queue_stage.hpp"
#include "state/model/queue_limits.hpp"
#include "tests/simulation/truth.hpp"

#include <fmt/format.h>

#include <algorithm>

// What holds of the records and the machines when everything has come to rest.

namespace reprieve::simulation {

using stage = simulated_journal::stage;

/// One whose machine does not even kill it comes back and goes again and again.
bool truth::waits_for_a_victim(const std::string& decision) const {
  return std::ranges::any_of(nodes_, [&](const auto& one) {
    const auto& pods = one.second.pods;
    return std::ranges::any_of(pods, [](const pod& p) { return p.stop_told != no_time; })
           && std::ranges::any_of(pods, [&](const pod& p) {
                return p.evicted_by == decision
                       || (p.placed_by == decision && p.phase == pod_phase::nominated);
              });
  });
}

bool truth::does_anybody_leave() const {
  return std::ranges::any_of(nodes_, [](const auto& one) {
    return std::ranges::any_of(one.second.pods,
                               [](const pod& p) { return p.stop_told != no_time; });
  });
}

void truth::check_rest() {
  if (open_.empty())
    check_quota();
  check_for_vain();
  for (const auto& [queue, record] : quota_)
    for (const auto& [group, granted] : record.grants)
      if (!groups_.contains(group))
        complain(fmt::format("{} is gone, and has a part of the limit of {}", group, queue));
  // An abort that a shard wrote for nobody is swept up by the next who takes over.
  for (const auto& [id, one] : open_)
    if (one.phase != decision_phase::aborted && !waits_for_a_victim(id))
      complain(fmt::format("decision {} is still open ({}){}", id, static_cast<int>(one.phase),
                           text_of_nodes()));
  for (const auto& [name, record] : nodes_)
    for (const auto& p : record.pods) {
      if (p.phase == pod_phase::nominated && !open_.contains(p.placed_by))
        complain(fmt::format("pod {} is nominated, and no decision is open", p.uid));
      const auto machine = machines_.find(p.uid);
      if (p.phase == pod_phase::running && p.stop_told == no_time
          && (machine == machines_.end() || machine->second.at != stage::running))
        complain(fmt::format("pod {} runs by its record and not on the machine", p.uid));
    }
  for (const auto& [uid, one] : machines_)
    if (is_on_a_machine(one.at)) {
      const auto node = nodes_.find(one.node);
      const auto* left = find(left_behind_, one.node);
      const auto& uids = left != nullptr        ? left->uids
                         : node != nodes_.end() ? node->second.status.left_behind
                                                : std::vector<std::string>{};
      // Who was given up with its machine is stopped when that is there again, and may take its
      // time.
      const bool given_up = std::ranges::find(uids, uid) != uids.end();
      if (!given_up && (node == nodes_.end() || find_pod(node->second, uid) == nullptr))
        complain(fmt::format("pod {} is on machine {} and no record tells of it", uid, one.node));
    }
}

void truth::note_limits(const queue& record) {
  auto& highest = highest_limits_[record.name];
  if (!queues_.contains(record.name))
    for (const auto& [resource, limit] : record.limit)
      highest[resource] = limit;
  for (auto& [resource, most] : highest) {
    const auto now = record.limit.find(resource);
    most = now == record.limit.end() || !most ? std::nullopt
                                              : std::optional{std::max(*most, now->second)};
  }
}

/// Nobody is let in beyond a limit, whichever resource group comes first: those who leave count
/// until they have gone. Where limits change, a group may not know yet.
void truth::check_limits(const node_record* before, const node_record& now) {
  const auto is_there = [](const pod& p) {
    return takes_room(p.phase) && !is_leaving(p.phase) && p.phase != pod_phase::nominated
           && p.evicted_by.empty();
  };
  const auto comes = [&](const pod& p) {
    const pod* known = before == nullptr ? nullptr : find_pod(*before, p.uid);
    return is_there(p) && p.placed_by != placed_by_cluster && !moved_.contains(p.workload)
           && (known == nullptr || known->phase == pod_phase::nominated);
  };
  if (std::ranges::none_of(now.pods, comes))
    return;
  usage_by_queue used;
  usage_by_queue used_before;
  const auto count = [&](const node_record& record, usage_by_queue& to) {
    for (const auto& p : record.pods)
      if (const auto owner = workloads_.find(p.workload);
          takes_room(p.phase) && p.phase != pod_phase::nominated && owner != workloads_.end())
        add_taken(to[owner->second.spec->queue], p);
  };
  for (const auto& [name, record] : nodes_)
    if (name != now.spec->name) {
      count(record, used);
      count(record, used_before);
    }
  count(now, used);
  if (before != nullptr)
    count(*before, used_before);
  for (const auto& [name, limits] : highest_limits_)
    for (const auto& [resource, most] : limits) {
      const auto taken = amount_of(used_below(queues_, used, name), resource);
      if (most && taken > *most
          && amount_of(used_below(queues_, used_before, name), resource) <= *most)
        complain(
          fmt::format("pods come to node {}, and queue {} uses {} {} by that, of which it was "
                      "never allowed more than {}{}",
                      now.spec->name, name, taken, resource, *most, text_of_nodes()));
    }
}

/// Nobody uses more than a limit, and grants hand out no more than it.
void truth::check_quota() {
  usage_by_queue used;
  for (const auto& [name, record] : nodes_)
    for (const auto& p : record.pods)
      if (const auto owner = workloads_.find(p.workload);
          takes_room(p.phase) && !is_leaving(p.phase) && p.evicted_by.empty()
          && owner != workloads_.end())
        add_taken(used[owner->second.spec->queue], p);
  for (const auto& [name, one] : queues_)
    for (const auto& [resource, limit] : one.limit) {
      std::int64_t granted = 0;
      if (const auto* record = find(quota_, name))
        for (const auto& [group, amounts] : record->grants)
          granted += amount_of(amounts, resource);
      const auto taken = amount_of(used_below(queues_, used, name), resource);
      if (granted > limit || taken > limit)
        complain(
          fmt::format("queue {} has a limit of {} {}, of which {} are granted, and uses {}{}", name,
                      limit, resource, granted, taken, text_of_nodes()));
    }
}

} // namespace reprieve::simulation
