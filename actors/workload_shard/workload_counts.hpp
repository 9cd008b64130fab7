#pragma once

#include "actors/workload_shard/workload_writes.hpp"

#include <vector>

/// How many replicas placements have, where clusters place pods by themselves
/// (docs/policies.md#lifecycle).
namespace reprieve {

/// What a decision makes of the shard's placements.
void change_counts(const workload_shard_state& state, const std::vector<count_change>& counts,
                   shard_changes& changes);

/// Has placements remember what the coordinator tells of them.
void note_counts(workload_shard_pointer self, const note_placements& noted, status_answer answer);

} // namespace reprieve
