#pragma once

#include "actors/workload_shard/workload_shard.hpp"

/// What decisions do to workloads.
namespace reprieve {

/// Records who goes and who comes back by the decision.
void carry_out(workload_shard_pointer self, const apply_parts<workload_parts>& committed,
               status_answer answer);

/// Takes back what the decision did to victims that were not told.
void take_back_effects(workload_shard_pointer self, const withdraw& dropped,
                       const status_answer& answer);

} // namespace reprieve
