#include "preemption/waiting/groundless.hpp"

#include <fmt/format.h>

namespace reprieve {

bool will_not_go(const pod& p, duration force_delete_after, time_point now) {
  // How long a replica has, its cluster decides, until it is to be taken away by force.
  return p.stop_told != no_time
         && (p.placed_by != placed_by_cluster || p.phase == pod_phase::force_deleting)
         && p.stop_told + p.checkpoint_time + p.grace_period + 2 * force_delete_after <= now;
}

void make_immovable(pod& p) {
  p.phase = pod_phase::surplus;
  p.evicted_by.clear();
  p.daemon = true;
}

std::string why_groundless(std::span<const pod* const> placed, std::span<const victim_pod> victims,
                           const decision_ground& on) {
  for (const auto& p : victims)
    if (on.does_not_go(p.uid))
      return fmt::format("victim {} did not leave node {} within its limit", p.uid, p.node);
  for (const auto* p : placed) {
    const auto* owner = on.owner(p->workload);
    if (owner == nullptr || !wants(*owner, *p))
      return fmt::format("pod {} is not wanted any more", p->name);
    if (!on.takes_pods(p->node))
      return fmt::format("node {} takes no pods any more", p->node);
  }
  return {};
}

} // namespace reprieve
