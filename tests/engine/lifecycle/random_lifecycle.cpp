#include "tests/engine/lifecycle/random_lifecycle.hpp"

#include "tests/support/plain_room.hpp"

#include <fmt/format.h>
#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <tuple>

namespace reprieve::tests {

namespace {

using share_key = std::pair<std::string, std::string>; ///< deployment, cluster

bool leaves(const pod& p) {
  return is_leaving(p.phase) || !p.evicted_by.empty();
}

const node& node_named(const lifecycle_world& world, const std::string& name) {
  return *std::ranges::find(world.nodes, name, &node::name);
}

const pod& pod_named(const lifecycle_world& world, const std::string& uid) {
  const auto found = std::ranges::find(world.pods, uid, &pod::uid);
  RC_ASSERT(found != world.pods.end());
  return *found;
}

const lifecycle_deployment* deployment_named(const lifecycle_world& world,
                                             const std::string& name) {
  const auto found = std::ranges::find(world.given.deployments, name, &lifecycle_deployment::name);
  return found == world.given.deployments.end() ? nullptr : &*found;
}

share_key share_of(const lifecycle_world& world, const pod& p) {
  return {p.workload, node_named(world, p.node).resource_group};
}

/// Pods that are not leaving, by share, but for those of this phase.
std::map<share_key, int> pods_bound(const lifecycle_world& world,
                                    pod_phase but_for = pod_phase::gone) {
  std::map<share_key, int> bound;
  for (const auto& p : world.pods)
    if (!leaves(p) && p.phase != but_for)
      ++bound[share_of(world, p)];
  return bound;
}

/// Each match fits, one after another, and would not without any one of its victims.
void matches_fit_and_are_minimal(const lifecycle_world& world, const lifecycle_plan& plan) {
  std::map<std::string, resources> room;
  for (const auto& n : world.nodes)
    room[n.name] = free_on(world, n);
  for (const auto& match : plan.matches) {
    const auto& request = deployment_named(world, match.deployment)->pods.requests;
    auto& here = room[match.node];
    for (const auto& one : match.victims)
      give(here, pod_named(world, one.uid).requests);
    RC_ASSERT(has(here, request));
    for (const auto& one : match.victims) {
      auto without = here;
      take(without, pod_named(world, one.uid).requests);
      RC_ASSERT(!has(without, request));
    }
    take(here, request);
  }
}

void victims_may_go(const lifecycle_world& world, const lifecycle_plan& plan) {
  std::set<std::string> seen;
  for (const auto& match : plan.matches) {
    const auto* who = deployment_named(world, match.deployment);
    RC_ASSERT(who->scores.contains(match.cluster));
    for (const auto& one : match.victims) {
      const auto& p = pod_named(world, one.uid);
      RC_ASSERT(seen.insert(one.uid).second);
      RC_ASSERT(p.node == match.node);
      RC_ASSERT(!p.daemon);
      RC_ASSERT(leaves(p) || !p.protected_member);
      if (one.stage == victim_stage::committed) {
        RC_ASSERT(p.priority < who->priority);
        RC_ASSERT(world.given.now - p.started >= p.minimum_runtime);
      }
      if (p.phase == pod_phase::force_deleting)
        RC_ASSERT(one.stage == victim_stage::force_deleting);
      if (p.phase == pod_phase::terminating)
        RC_ASSERT(one.stage == victim_stage::terminating);
      if (p.phase == pod_phase::surplus)
        RC_ASSERT(one.stage == victim_stage::surplus);
    }
  }
}

/// Counts agree with the victims, and somebody always stays.
void scale_downs_leave_a_replica(const lifecycle_world& world, const lifecycle_plan& plan) {
  const auto bound = pods_bound(world);
  const auto staying = pods_bound(world, pod_phase::surplus);
  std::map<share_key, int> scaled;
  std::map<share_key, int> going;
  for (const auto& [uid, stage] : stages_of(plan)) {
    const auto& p = pod_named(world, uid);
    if (leaves(p))
      continue;
    ++going[share_of(world, p)];
    if (stage == victim_stage::committed)
      ++scaled[share_of(world, p)];
  }
  for (const auto& [key, count] : going)
    RC_ASSERT(bound.at(key) - count >= 1);
  RC_ASSERT(plan.scale_downs.size() == scaled.size());
  for (const auto& one : plan.scale_downs) {
    const share_key key{one.deployment, one.cluster};
    RC_ASSERT(one.to >= 1);
    RC_ASSERT(one.to == std::min(one.from, staying.at(key)) - scaled.at(key));
  }
}

void whoever_is_preempted_gets_nothing(const lifecycle_world& world, const lifecycle_plan& plan) {
  std::set<std::string> served;
  for (const auto& match : plan.matches)
    served.insert(match.deployment);
  for (const auto& name : plan.memory.preempted)
    RC_ASSERT(!served.contains(name));
  for (const auto& match : plan.matches)
    for (const auto& one : match.victims) {
      const auto* loser = deployment_named(world, one.deployment);
      if (loser != nullptr && loser->priority < deployment_named(world, match.deployment)->priority)
        RC_ASSERT(std::ranges::binary_search(plan.memory.preempted, one.deployment));
    }
}

void everybody_is_accounted_for(const lifecycle_world& world, const lifecycle_plan& plan) {
  std::map<std::string, std::int32_t> pods;
  for (const auto& match : plan.matches)
    ++pods[match.deployment];
  for (const auto& one : plan.unmatched) {
    RC_ASSERT(!one.reason.empty());
    pods[one.deployment] += one.pods;
  }
  for (const auto& one : world.given.deployments)
    RC_ASSERT(pods[one.name] == one.lacking);
}

/// Every victim is waited for, force-deleted, or its deployment scaled down.
void every_victim_is_seen_to(const lifecycle_world& world, const lifecycle_plan& plan) {
  const auto awaited = awaited_in(plan);
  const std::set<std::string> forced{plan.force_deletes.begin(), plan.force_deletes.end()};
  const auto stages = stages_of(plan);
  std::size_t committed = 0;
  for (const auto& [uid, stage] : stages) {
    const auto over = lifecycle_pod_of(pod_named(world, uid)).grace_over;
    const bool force =
      stage == victim_stage::terminating && over != no_time && over <= world.given.now;
    RC_ASSERT(forced.contains(uid) == force);
    RC_ASSERT(awaited.contains(uid) == (stage != victim_stage::committed && !force));
    committed += stage == victim_stage::committed ? 1 : 0;
  }
  RC_ASSERT(awaited.size() + forced.size() + committed == stages.size());
}

} // namespace

std::int64_t between(std::int64_t low, std::int64_t high) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::int64_t>(low, high + 1));
}

bool one_in(std::int64_t n) {
  return between(1, n) == 1;
}

bool goes_before(const lifecycle_deployment& a, const lifecycle_deployment& b) {
  return std::tuple(-a.priority, a.submitted, a.name)
         < std::tuple(-b.priority, b.submitted, b.name);
}

resources free_on(const lifecycle_world& world, const node& n) {
  auto room = room_of(n);
  for (const auto& p : world.pods)
    if (p.node == n.name)
      take(room, p.requests);
  return room;
}

void give(resources& room, const resources& requests) {
  for (const auto& [name, value] : taken_by(requests))
    room[name] += value;
}

void take(resources& room, const resources& requests) {
  for (const auto& [name, value] : taken_by(requests))
    room[name] -= value;
}

bool has(const resources& room, const resources& requests) {
  return std::ranges::all_of(taken_by(requests), [&](const auto& one) {
    return one.second <= 0 || one.second <= amount_of(room, one.first);
  });
}

lifecycle_world draw_lifecycle_world(const lifecycle_traits& with) {
  cluster drawn;
  const auto nodes = between(2, 5);
  const auto second = with.one_cluster ? nodes : between(1, nodes);
  for (std::int64_t i = 0; i < nodes; ++i) {
    const auto gpus = gpu(between(1, 6));
    const auto cpus = cpu(between(4, 12));
    drawn.node(fmt::format("n{}", i), gpus, cpus, in_cluster{i < second ? "east" : "west"});
  }
  lifecycle_world world{drawn};

  const auto deployments = between(3, 8);
  for (std::int64_t d = 0; d < deployments; ++d) {
    const auto name = fmt::format("d{}", d);
    const auto priority = static_cast<std::int32_t>(between(0, 5));
    const auto lacking = static_cast<std::int32_t>(one_in(2) ? between(1, 3) : 0);
    const auto gpus = gpu(between(1, with.most_gpus));
    const auto cpus = cpu(between(0, 2));
    auto made = wanting(name, priority, lacking, gpus, cpus);
    made.submitted = at(between(1, 3));
    made.scores = {{"east", between(0, 2)}, {"west", between(0, 2)}};
    if (!with.one_cluster && one_in(4))
      made.scores.erase(one_in(2) ? "east" : "west");
    const auto wanted_pods = between(1, 9);
    for (std::int64_t i = 0; i < wanted_pods; ++i) {
      const auto& where = world.nodes[static_cast<std::size_t>(between(0, nodes - 1))];
      if (!has(free_on(world, where), made.pods.requests))
        continue;
      pod p;
      p.uid = p.name = fmt::format("{}-{}", name, i);
      p.workload = name;
      p.group = "g";
      p.index = static_cast<std::int32_t>(i);
      p.node = where.name;
      p.phase = pod_phase::running;
      p.requests = made.pods.requests;
      p.priority = made.priority;
      p.created = at(between(1, 4));
      p.started = p.created;
      if (with.immovable) {
        p.daemon = one_in(15);
        p.protected_member = one_in(15);
        p.minimum_runtime = std::chrono::hours{one_in(15) ? 2 : 0};
      }
      if (with.leaving && one_in(3)) {
        p.phase = std::array{pod_phase::surplus, pod_phase::terminating,
                             pod_phase::force_deleting}[static_cast<std::size_t>(between(0, 2))];
        if (p.phase == pod_phase::terminating && !one_in(4))
          p.stop_told = at(between(3540, 3600));
      }
      world.pods.push_back(std::move(p));
    }
    for (const std::string cluster : {"east", "west"}) {
      placement share;
      share.name = fmt::format("{}-{}", name, cluster);
      share.deployment = name;
      share.cluster = cluster;
      world.given.placements.push_back(std::move(share));
    }
    world.given.deployments.push_back(std::move(made));
  }
  auto bound = pods_bound(world);
  auto staying = pods_bound(world, pod_phase::surplus);
  for (auto& share : world.given.placements) {
    share.assigned = bound[{share.deployment, share.cluster}];
    share.committed = staying[{share.deployment, share.cluster}];
    // Replicas may wait for a pod, or be too many before anybody says which.
    if (with.leaving && share.committed > 0 && one_in(4))
      share.committed += one_in(2) ? 1 : -1;
  }
  return world;
}

void check(const lifecycle_world& world, const lifecycle_plan& plan) {
  matches_fit_and_are_minimal(world, plan);
  victims_may_go(world, plan);
  scale_downs_leave_a_replica(world, plan);
  whoever_is_preempted_gets_nothing(world, plan);
  everybody_is_accounted_for(world, plan);
  every_victim_is_seen_to(world, plan);
}

} // namespace reprieve::tests
