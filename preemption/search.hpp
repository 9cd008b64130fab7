#pragma once

#include "preemption/problem.hpp"

namespace reprieve {

/// Tries the preemptor's domains and takes the best (DESIGN 3.1). It is known not to fit without
/// victims.
plan search_victims(const problem& given);

} // namespace reprieve
