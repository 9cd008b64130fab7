#pragma once

#include "state/quantities/resources.hpp"

#include <cstdint>

namespace reprieve {

/// What all nodes of a cluster may have of a resource together, and what all pods of a workload may
/// ask for: admission refuses more. So what is used, what leaves and what somebody asks for add up
/// in 64 bits.
inline constexpr std::int64_t most_in_all = std::int64_t{1} << 61;

/// Where sums of what any number of workloads ask for stop: more than all nodes may have, and
/// `most_in_all` more still fits.
inline constexpr std::int64_t largest_sum = 2 * most_in_all;

/// Adds so many times what `more` has; sums stop at `largest_sum`.
void add_times(resources& to, const resources& more, std::int64_t times);

} // namespace reprieve
