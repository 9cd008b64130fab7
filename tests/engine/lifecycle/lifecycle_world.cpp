#include "tests/engine/lifecycle/lifecycle_world.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace reprieve::tests {

namespace {

bool stays(const pod& p) {
  return takes_room(p.phase) && !is_leaving(p.phase) && p.evicted_by.empty();
}

template <class List, class... Projection>
auto& the_one(List& list, std::string_view name, Projection... of) {
  const auto found = std::ranges::find(list, name, of...);
  if (found == list.end())
    throw std::out_of_range(std::string(name));
  return *found;
}

} // namespace

cluster with_spare() {
  return cluster().node("spare", gpu(64), not_ready());
}

cluster two_nodes() {
  return with_spare().node("n1", gpu(1)).node("n2", gpu(1));
}

lifecycle_world::lifecycle_world(const cluster& in, std::vector<lifecycle_deployment> preemptors)
    : nodes(in.all_nodes()), pods(in.all_pods()) {
  given.deployments = std::move(preemptors);
  given.now = at(3600);
  std::map<std::pair<std::string, std::string>, placement> shares;
  for (const auto& p : pods) {
    const auto& cluster = the_one(nodes, p.node, &node::name).resource_group;
    auto& share = shares[{p.workload, cluster}];
    share.name = fmt::format("{}-{}", p.workload, cluster);
    share.deployment = p.workload;
    share.cluster = cluster;
    share.assigned += stays(p) ? 1 : 0;
    share.committed += stays(p) && p.phase != pod_phase::surplus ? 1 : 0;
  }
  for (auto& [key, share] : shares)
    given.placements.push_back(std::move(share));
}

cluster_view lifecycle_world::view() const {
  return view_of(nodes, pods, {});
}

lifecycle_plan lifecycle_world::plan() const {
  auto input = given;
  for (const auto& p : pods)
    input.pods.push_back(lifecycle_pod_of(p));
  return preempt_by_lifecycle(view(), input);
}

pod& lifecycle_world::pod_of(std::string_view uid) {
  return the_one(pods, uid, &pod::uid);
}

placement& lifecycle_world::share(std::string_view deployment, std::string_view cluster) {
  return the_one(given.placements, fmt::format("{}-{}", deployment, cluster), &placement::name);
}

lifecycle_deployment& lifecycle_world::deployment(std::string_view name) {
  return the_one(given.deployments, name, &lifecycle_deployment::name);
}

guards& lifecycle_world::limits(const std::string& cluster) {
  auto& made = given.clusters.emplace_back();
  made.name = cluster;
  return made.limits;
}

void lifecycle_world::act_on(const lifecycle_plan& plan) {
  for (const auto& one : plan.scale_downs)
    share(one.deployment, one.cluster).committed = one.to;
  for (const auto& uid : plan.force_deletes)
    pod_of(uid).phase = pod_phase::force_deleting;
  given.before = plan.memory;
}

void lifecycle_world::count_assigned() {
  for (auto& share : given.placements)
    share.assigned = static_cast<std::int32_t>(std::ranges::count_if(pods, [&](const pod& p) {
      return stays(p) && p.workload == share.deployment
             && the_one(nodes, p.node, &node::name).resource_group == share.cluster;
    }));
}

std::set<std::string> victims_of(const lifecycle_plan& plan) {
  std::set<std::string> uids;
  for (const auto& match : plan.matches)
    for (const auto& one : match.victims)
      uids.insert(one.uid);
  return uids;
}

std::map<std::string, victim_stage> stages_of(const lifecycle_plan& plan) {
  std::map<std::string, victim_stage> stages;
  for (const auto& match : plan.matches)
    for (const auto& one : match.victims)
      stages.emplace(one.uid, one.stage);
  return stages;
}

std::multiset<std::string> matches_of(const lifecycle_plan& plan) {
  std::multiset<std::string> found;
  for (const auto& match : plan.matches)
    found.insert(fmt::format("{}@{}", match.deployment, match.node));
  return found;
}

std::map<std::string, std::int32_t> scaled_down_by(const lifecycle_plan& plan) {
  std::map<std::string, std::int32_t> replicas;
  for (const auto& one : plan.scale_downs)
    replicas[one.deployment] += one.from - one.to;
  return replicas;
}

std::set<std::string> awaited_in(const lifecycle_plan& plan) {
  std::set<std::string> uids;
  for (const auto& one : plan.awaited)
    uids.insert(one.uid);
  return uids;
}

std::string why_stays(const lifecycle_plan& plan, std::string_view uid) {
  const auto found = std::ranges::find(plan.passed_over, uid, &passed_over_pod::uid);
  return found == plan.passed_over.end() ? "" : found->reason;
}

std::string why_nothing(const lifecycle_plan& plan, std::string_view deployment) {
  const auto found =
    std::ranges::find(plan.unmatched, deployment, &unmatched_deployment::deployment);
  return found == plan.unmatched.end() ? "" : found->reason;
}

} // namespace reprieve::tests
