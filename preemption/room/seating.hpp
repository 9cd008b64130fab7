#pragma once

#include "preemption/room/seating_order.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <set>
#include <vector>

namespace reprieve {

/// A pod of the preemptor and the node it gets.
struct seat {
  std::size_t group = 0; ///< position in `demand::groups`
  std::size_t pod = 0;   ///< position in the group's pods
  node_row node = no_row;
};

/// The seats found so far, in the order they were found.
struct seating {
  std::vector<seat> seats;
  std::vector<std::size_t> placed; ///< pods of each group that have a seat
  std::size_t lacking = 0;         ///< the group that did not find all it needs, where one did not

  explicit seating(const demand& asked) : placed(asked.groups.size()) {}
};

std::set<node_row> nodes_of(const seating& found);

/// The level at which nobody has to go.
inline constexpr std::int64_t nobody_goes = std::numeric_limits<std::int64_t>::min();

/// The position of the node's first step up to `level`; the number of steps if none is.
std::size_t step_at(const cluster_view& view, node_row n, std::int64_t level);

} // namespace reprieve
