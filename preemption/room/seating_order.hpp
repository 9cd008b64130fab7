#pragma once

#include "preemption/problem/problem.hpp"

#include <cstddef>
#include <vector>

namespace reprieve {

/// A group's turn to look for seats.
struct turn {
  std::size_t group = 0;        ///< position in `demand::groups`
  resource_column dominant = 0; ///< the resource that its pods take the largest share of
};

/// The turns of all groups: those first that suit the fewest nodes, then those whose pods take the
/// larger share of their dominant resource.
std::vector<turn> hardest_first(const problem& given);

} // namespace reprieve
