#pragma once

#include "preemption/lifecycle.hpp"
#include "preemption/plan.hpp"
#include "preemption/preemptor.hpp"
#include "preemption/queue_stage.hpp"

#include <string>
#include <vector>

namespace reprieve::cli {

/// What the engine said about one preemptor.
struct told_plan {
  std::string resource_group;
  preemptor who;
  plan made;
};

/// For people.
std::string plan_story(const told_plan& one);
std::string queue_story(const queue_stage_result& result);
std::string lifecycle_story(const lifecycle_plan& made);

/// For programs: `{"plans": […], "queues": […]}`.
std::string plans_json(const std::vector<told_plan>& plans, const queue_stage_result* queues);
/// `{"matches": […], "scaleDowns": […], "forceDeletes": […], …}`.
std::string lifecycle_json(const lifecycle_plan& made);

} // namespace reprieve::cli
