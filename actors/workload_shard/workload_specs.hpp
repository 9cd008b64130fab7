#pragma once

#include "actors/workload_shard/workload_shard.hpp"

#include <string>

/// What users ask for: workloads, budgets and placements come, change and go.
namespace reprieve {

/// Makes what admission let through durable, when no vote is in the way of it.
void put_when_free(workload_shard_pointer self, put_workloads wanted, status_answer answer,
                   std::string lent_for);

/// Marks workloads as deleting, or takes the rest away, when no vote is in the way of it.
void remove_when_free(workload_shard_pointer self, remove_workloads wanted, status_answer answer,
                      std::string lent_for);

} // namespace reprieve
