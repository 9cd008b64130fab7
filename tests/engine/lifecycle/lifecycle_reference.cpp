#include "tests/engine/lifecycle/lifecycle_reference.hpp"

#include "tests/engine/lifecycle/random_lifecycle.hpp"

#include <algorithm>
#include <map>
#include <vector>

namespace reprieve::tests {

namespace {

/// Orders names the other way round: the higher comes first.
std::string turned(std::string name) {
  for (auto& c : name)
    c = static_cast<char>('\x7f' - c);
  return name + '\x7f';
}

const node& node_of(const lifecycle_world& world, const pod& p) {
  return *std::ranges::find(world.nodes, p.node, &node::name);
}

bool may_go(const pod& p, const lifecycle_deployment& who, time_point now) {
  if (p.daemon || (p.protected_member && !is_leaving(p.phase)))
    return false;
  return p.phase != pod_phase::running
         || (p.priority < who.priority && now - p.started >= p.minimum_runtime);
}

/// Whether a deployment would be left without a replica in the cluster.
bool takes_a_last_replica(const lifecycle_world& world, const std::string& cluster,
                          const std::vector<const pod*>& victims) {
  std::map<std::string, int> going;
  std::map<std::string, int> scaled_down;
  for (const auto* p : victims) {
    going[p->workload] += is_leaving(p->phase) ? 0 : 1;
    scaled_down[p->workload] += p->phase == pod_phase::running ? 1 : 0;
  }
  return std::ranges::any_of(world.given.placements, [&](const placement& share) {
    const auto gone = going[share.deployment];
    const auto scaled = scaled_down[share.deployment];
    return share.cluster == cluster
           && ((gone > 0 && gone >= share.assigned) || (scaled > 0 && scaled >= share.committed));
  });
}

} // namespace

victim_rank rank_of(const lifecycle_world& world, const pod& p, const lifecycle_deployment& who) {
  const int stage = p.phase == pod_phase::force_deleting ? 0
                    : p.phase == pod_phase::terminating  ? 1
                    : p.phase == pod_phase::surplus      ? 2
                                                         : 3;
  return {stage, p.priority, who.scores.at(node_of(world, p).resource_group),
          -p.created.time_since_epoch().count(), turned(p.name)};
}

std::optional<std::optional<victim_rank>> best_worst_victim(const lifecycle_world& world,
                                                            const lifecycle_deployment& who) {
  std::optional<std::optional<victim_rank>> best;
  for (const auto& n : world.nodes) {
    if (!who.scores.contains(n.resource_group))
      continue;
    std::vector<const pod*> on_node;
    for (const auto& p : world.pods)
      if (p.node == n.name && may_go(p, who, world.given.now))
        on_node.push_back(&p);
    for (std::uint32_t set = 0; set < 1U << on_node.size(); ++set) {
      auto room = free_on(world, n);
      std::vector<const pod*> victims;
      std::optional<victim_rank> worst;
      for (std::size_t i = 0; i < on_node.size(); ++i)
        if ((set >> i & 1U) != 0) {
          victims.push_back(on_node[i]);
          give(room, on_node[i]->requests);
          worst = std::max(worst, std::optional{rank_of(world, *on_node[i], who)});
        }
      if (has(room, who.pods.requests) && !takes_a_last_replica(world, n.resource_group, victims)
          && (!best || worst < *best))
        best = worst;
    }
  }
  return best;
}

} // namespace reprieve::tests
