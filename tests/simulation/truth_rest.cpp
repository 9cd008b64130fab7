#include "preemption/queue_stage.hpp"
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

void truth::check_rest() {
  if (open_.empty())
    check_quota();
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
      if (node == nodes_.end() || find_pod(node->second, uid) == nullptr)
        complain(fmt::format("pod {} is on machine {} and no record tells of it", uid, one.node));
    }
}

resources truth::used_in(const std::string& queue, const std::string& group) const {
  resources used;
  for (const auto& [name, record] : nodes_)
    for (const auto& p : record.pods) {
      const auto owner = workloads_.find(p.workload);
      if (!takes_room(p.phase) || is_leaving(p.phase) || !p.evicted_by.empty()
          || owner == workloads_.end() || owner->second.spec->queue != queue
          || (!group.empty() && owner->second.spec->resource_group != group))
        continue;
      add_taken(used, p);
    }
  return used;
}

/// Nobody uses more than the queue is allocated, and grants hand out no more than that.
void truth::check_quota() {
  for (const auto& [queue, record] : quota_) {
    const auto used = used_in(queue);
    for (const auto& [resource, allocated] : record.allocated) {
      std::int64_t granted = 0;
      for (const auto& [group, amounts] : record.grants)
        granted += amount_of(amounts, resource);
      if (granted > allocated || amount_of(used, resource) > allocated)
        complain(fmt::format("queue {} is allocated {} {}, of which {} are granted, and uses {}{}",
                             queue, allocated, resource, granted, amount_of(used, resource),
                             text_of_nodes()));
    }
  }
}

} // namespace reprieve::simulation
