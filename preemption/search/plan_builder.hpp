#pragma once

#include "preemption/pipeline/attempt.hpp"
#include "preemption/pipeline/explain.hpp"

#include <vector>

namespace reprieve {

/// The seats as pods, each with its node and nominated; by group, then pod.
std::vector<assignment> assignments_of(const problem& given, const seating& found);

/// The plan that an attempt stands for, without what is told of other domains.
plan plan_of(const problem& given, const explainer& explain, const attempt& chosen);

} // namespace reprieve
