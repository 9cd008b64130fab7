#pragma once

#include "preemption/policy.hpp"

namespace reprieve {

/// Tries the domains of the policy and takes the best. The preemptor is known not to fit without
/// victims.
plan search_victims(const problem& given, policy& rules);

} // namespace reprieve
