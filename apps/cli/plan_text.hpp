#pragma once

#include "preemption/cycle.hpp"
#include "preemption/lifecycle.hpp"
#include "preemption/queue_stage.hpp"

#include <optional>
#include <string>
#include <vector>

namespace reprieve::cli {

/// All that the engine said; of the stages, those that were run.
struct decided {
  std::vector<turn_taken> turns;
  std::optional<lifecycle_plan> lifecycle;
  std::optional<queue_stage_result> queues;
};

/// For people.
std::string decided_story(const decided& made);

/// For programs: `{"plans": […], "lifecycle": {…}, "queues": […]}`.
std::string decided_json(const decided& made);

} // namespace reprieve::cli
