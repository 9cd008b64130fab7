#pragma once

#include "state/model/decision.hpp"
#include "state/model/pod.hpp"
#include "state/records/workload_record.hpp"

#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace reprieve {

/// Whether the pod is there past all its limits although it was told to stop: from then on nobody
/// counts on its room. It is killed after the grace period and the group's limit; gone, however
/// slow the machine, within twice that.
bool will_not_go(const pod& p, duration force_delete_after, time_point now);

/// Shows such a pod: its room is taken, and it is nobody's victim. Budgets do not count on it, as
/// their owner does not either, or it would vote against the plan.
void make_immovable(pod& p);

/// What a decision that is under way stands on.
struct decision_ground {
  /// The workload's record; null where there is none.
  std::function<const workload_record*(std::string_view workload)> owner;
  std::function<bool(std::string_view node)> takes_pods;
  std::function<bool(std::string_view uid)> does_not_go;
};

/// Why a decision that places these pods and has these victims should be given up
/// (docs/policies.md#delayed-actuation): a pod that it places is not wanted any more, its node
/// takes none, or a victim does not go. Empty where none of this holds.
std::string why_groundless(std::span<const pod* const> placed, std::span<const victim_pod> victims,
                           const decision_ground& on);

} // namespace reprieve
