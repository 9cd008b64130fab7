#pragma once

#include "actors/workload_shard/workload_shard.hpp"

namespace reprieve {

using workload_shard_pointer = workload_shard_actor::stateful_pointer<workload_shard_state>;

/// Says whether the workloads are what the plan saw and the budgets allow what it takes, and holds
/// that on a yes (docs/protocol.md#two-phase-commit).
absl::Status vote(workload_shard_pointer self, const prepare<workload_parts>& asked);

/// Begins to count pods for budgets, once there are any and it is known whom to ask.
void count_for_budgets(workload_shard_pointer self);

/// Takes in where pods run now.
void count(workload_shard_pointer self, node_delta& delta);

} // namespace reprieve
