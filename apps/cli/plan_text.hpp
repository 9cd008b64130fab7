#pragma once

#include "preemption/policies/lifecycle/lifecycle.hpp"
#include "preemption/policies/queues/queue_stage.hpp"
#include "preemption/snapshot/snapshot_cycle.hpp"

#include <optional>
#include <string>
#include <vector>

namespace reprieve::cli {

/// All that the engine said; of the stages, those that were run.
struct decided {
  std::vector<turn_taken> turns;
  std::optional<lifecycle_plan> lifecycle;
  by_name<queue_stage_result> queues;  ///< by resource group
  by_name<lifecycle_outcome> replicas; ///< likewise, of a server's own cycle
};

/// For people.
std::string decided_story(const decided& made);

/// For programs: `{"plans": […], "lifecycle": {…}, "queues": […], "replicas": […]}`.
std::string decided_json(const decided& made);

} // namespace reprieve::cli
