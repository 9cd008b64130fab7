#pragma once

#include "preemption/lifecycle.hpp"
#include "preemption/plan.hpp"
#include "preemption/preemptor.hpp"
#include "preemption/queue_stage.hpp"

#include <optional>
#include <string>
#include <vector>

namespace reprieve::cli {

/// What the engine said about one preemptor.
struct told_plan {
  std::string id;
  std::string resource_group;
  preemptor who;
  plan made;
};

/// All that it said; of the stages, those that were run.
struct decided {
  std::vector<told_plan> plans;
  std::optional<lifecycle_plan> lifecycle;
  std::optional<queue_stage_result> queues;
};

/// For people.
std::string decided_story(const decided& made);

/// For programs: `{"plans": […], "lifecycle": {…}, "queues": […]}`.
std::string decided_json(const decided& made);

} // namespace reprieve::cli
