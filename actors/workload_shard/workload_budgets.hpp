#pragma once

#include "actors/workload_shard/workload_shard.hpp"

#include <string>
#include <vector>

/// The pods that budgets count: how many there are, and which of them decisions take.
namespace reprieve {

/// Counts for the budgets as they are now.
void know_budgets(workload_shard_pointer self, const std::vector<disruption_budget>& changed,
                  const std::vector<std::string>& removed);

/// Asks these shards for their pods, as far as anybody counts any.
void count_pods_of(workload_shard_pointer self, meet_nodes& there);

/// Takes in where pods run now.
void count(workload_shard_pointer self, node_delta& delta);

/// What decisions before that time would have taken from budgets, nobody takes.
void forget_earlier_evictions(workload_shard_state& state, const drop_votes& order);

} // namespace reprieve
