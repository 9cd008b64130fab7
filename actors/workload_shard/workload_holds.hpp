#pragma once

#include "actors/workload_shard/workload_shard.hpp"

#include <functional>
#include <string>
#include <vector>

namespace reprieve {

/// Says whether the workloads are what the plan saw and the budgets allow what it takes, and holds
/// that on a yes (docs/protocol.md#two-phase-commit).
absl::Status vote(workload_shard_pointer self, const prepare<workload_parts>& asked);

/// Makes a change of these workloads when decisions that place them are given up, and nothing is
/// lent by then.
void change_unlent(workload_shard_pointer self, std::vector<std::string> workloads,
                   std::function<void()> change);

} // namespace reprieve
