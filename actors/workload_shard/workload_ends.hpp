#pragma once

#include "actors/workload_shard/workload_shard.hpp"

/// What becomes of workloads when their pods have ended.
namespace reprieve {

/// Records how pods ended.
void end_slots(workload_shard_pointer self, const slots_ended& ended, status_answer answer);

/// Takes away the workloads that were being deleted.
void forget_deleted(workload_shard_pointer self, const forget_workloads& ended,
                    status_answer answer);

} // namespace reprieve
