#pragma once

#include "actors/workload_shard.hpp"

namespace reprieve {

using workload_shard_pointer = workload_shard_actor::stateful_pointer<workload_shard_state>;

/// Says whether the workloads are what the plan saw and the budgets allow what it takes, and holds
/// that on a yes (DESIGN 4.2).
absl::Status vote(workload_shard_pointer self, const prepare<workload_parts>& asked);

/// What the decision was promised of workloads does not bind any more.
void forget_promises(workload_shard_state& state, const std::string& decision,
                     const workload_parts& parts);

/// Goes on with a change of these workloads as soon as no vote is in its way. Decisions that have
/// such a vote are aborted, unless they are committed already and take their hold themselves.
void change_when_free(workload_shard_pointer self, std::vector<std::string> workloads,
                      std::function<void()> go_on);

/// A hold has gone: changes that waited for it may go on.
void go_on_with_changes(workload_shard_pointer self);

/// Begins to count pods for budgets, once there are any and it is known whom to ask.
void count_for_budgets(workload_shard_pointer self);

/// Takes in where pods run now.
void count(workload_shard_pointer self, node_delta& delta);

} // namespace reprieve
