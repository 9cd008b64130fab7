#include "actors/coordinator/group_mirror.hpp"
#include "preemption/policies/lifecycle/lifecycle_cycle.hpp"

#include <set>
#include <string_view>

// Replicas that are placed by the cluster's own scheduler (docs/policies.md#lifecycle).

namespace reprieve {

void group_mirror::leave_replicas_to_cluster(bool so) {
  if (std::exchange(cluster_counts_, so) == so)
    return;
  for (auto& one : workloads_)
    put_record(one, one.second.stands.record());
}

void group_mirror::put(const placement& share) {
  placements_.insert_or_assign(share.name, share);
}

void group_mirror::remove_placement(const std::string& name) {
  placements_.erase(name);
}

bool group_mirror::is_left_to_cluster(const workload_record* record) const {
  return cluster_counts_ && record != nullptr && is_counted(record->spec);
}

std::vector<std::shared_ptr<const workload_record>> group_mirror::counted_deployments() const {
  std::vector<std::shared_ptr<const workload_record>> found;
  for (const auto& [name, entry] : workloads_)
    if (is_left_to_cluster(entry.stands.record().get()))
      found.push_back(entry.stands.record());
  return found;
}

std::vector<lifecycle_pod> group_mirror::lifecycle_pods() {
  refresh();
  std::vector<lifecycle_pod> found;
  for (const auto& [name, entry] : nodes_)
    for (const auto& p : entry.shown)
      found.push_back(lifecycle_pod_of(p));
  return found;
}

std::map<std::string, std::vector<std::string>, std::less<>> group_mirror::expected_to_go() {
  refresh();
  std::set<std::string_view> awaited;
  for (const auto& [name, share] : placements_)
    for (const auto& room : share.nominations)
      awaited.insert(room.victims.begin(), room.victims.end());
  std::map<std::string, std::vector<std::string>, std::less<>> found;
  for (const auto& [name, entry] : nodes_)
    for (const auto& p : entry.shown)
      if (p.stop_told == no_time && (!p.evicted_by.empty() || awaited.contains(p.uid)))
        found[p.workload].push_back(p.uid);
  return found;
}

bool group_mirror::is_replica(const victim_pod& p) const {
  const auto on = nodes_.find(p.node);
  const pod* found = on == nodes_.end() ? nullptr : on->second.shown.find(p.uid);
  return found != nullptr && is_left_to_cluster(find_workload(found->workload).get());
}

} // namespace reprieve
