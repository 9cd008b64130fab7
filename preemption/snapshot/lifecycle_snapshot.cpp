#include "preemption/snapshot/lifecycle_snapshot.hpp"

#include "preemption/snapshot/snapshot_cycle.hpp"
#include "preemption/waiting/wait_reason.hpp"
#include "state/model/queue_limits.hpp"

#include <map>
#include <string_view>
#include <vector>

namespace reprieve {

namespace {

std::int32_t pods_lacking(const snapshot& taken, const std::string& deployment) {
  std::size_t pods = 0;
  for (const auto& unit : taken.pending_of(deployment))
    for (const auto& group : unit.groups)
      pods += group.pods.size();
  return static_cast<std::int32_t>(pods);
}

lifecycle_deployment deployment_of(const workload_record& record) {
  lifecycle_deployment one;
  one.name = record.spec->name;
  one.priority = record.status.resolved.priority;
  one.may_preempt = record.status.resolved.may_preempt;
  one.submitted = record.status.submitted;
  one.pods = record.spec->groups.front().pods;
  return one;
}

} // namespace

lifecycle_input lifecycle_of(const snapshot& taken,
                             const std::function<bool(std::string_view deployment)>& seeks,
                             time_point now) {
  lifecycle_input in;
  in.now = now;
  in.recent_preemptions = taken.recent_preemptions(now);
  in.placements = taken.placements();
  for (const auto& p : taken.pods())
    in.pods.push_back(lifecycle_pod_of(p));
  for (const auto& group : taken.groups()) {
    in.clusters.push_back(taken.settings_of(group));
    in.clusters.back().name = group;
  }
  for (const auto& [name, record] : taken.workloads()) {
    if (record.spec->kind != workload_kind::deployment)
      continue;
    auto one = deployment_of(record);
    if (seeks(name))
      one.lacking = pods_lacking(taken, name);
    for (const auto& share : taken.placements())
      if (share.deployment == name) {
        one.scores[share.cluster] = share.score;
        for (const auto& room : share.nominations)
          in.before.nominations.push_back({name, room.node, room.victims});
        if (share.preempted)
          in.before.preempted.push_back(name);
      }
    in.deployments.push_back(std::move(one));
  }
  return in;
}

lifecycle_cycle_input lifecycle_cycle_of(const snapshot& taken, const std::string& cluster,
                                         time_point now) {
  lifecycle_cycle_input in;
  in.cluster = taken.settings_of(cluster);
  in.cluster.name = cluster;
  in.now = now;
  in.recent_preemptions = taken.recent_preemptions(now);
  for (const auto& share : taken.placements())
    if (share.cluster == cluster)
      in.placements.push_back(share);
  for (const auto& p : taken.pods())
    in.pods.push_back(lifecycle_pod_of(p));
  in.queues = queues_in(taken, in.cluster, taken.pods(), taken.view_of(cluster));
  std::map<std::string_view, std::vector<const pod*>> pods_of;
  for (const auto& p : taken.pods())
    pods_of[p.workload].push_back(&p);
  by_name<resources> wanted; // by workload
  for (const auto& [name, record] : taken.workloads()) {
    if (record.spec->resource_group != cluster)
      continue;
    if (!is_counted(record.spec)) {
      resources asked;
      auto& all = wanted[name]; // some of it when others have settled
      for (const auto& unit : taken.lacking_with(record, pods_of[name], &all))
        add_to(asked, demand_of(unit));
      add_to(in.queues->pending[record.spec->queue], asked);
      add_to(all, asked);
    } else if (!record.deleting) {
      in.deployments.push_back(
        {deployment_of(record), record.spec->queue, replicas_wanted(record.spec)});
    }
  }
  add_waiting_again(*in.queues, taken, cluster, taken.pods(), wanted);
  return in;
}

} // namespace reprieve
