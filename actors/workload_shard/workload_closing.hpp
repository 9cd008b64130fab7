#pragma once

#include "actors/workload_shard/workload_shard.hpp"

namespace reprieve {

/// Sees to it that nothing new comes for what goes: the shard's resource group, if nothing is in
/// it, or entries of the catalog that nothing in it names.
caf::result<lent_result> close_for_others(workload_shard_pointer self,
                                          const lend<close_shard>& wanted);

/// Whether nothing was deleted since that the workloads name.
absl::Status check_that_all_is_there(const workload_shard_state& state,
                                     const put_workloads& wanted);

} // namespace reprieve
