#pragma once

#include "preemption/evaluation/evaluation_hints.hpp"
#include "preemption/pipeline/policy.hpp"

namespace reprieve {

/// Tries the domains of the policy and takes the best. The preemptor is known not to fit without
/// victims. With an evaluation_hints it tries less and comes to the same.
plan search_victims(const problem& given, policy& rules, const evaluation_hints* hints = nullptr);

} // namespace reprieve
