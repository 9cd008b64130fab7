#pragma once

#include "preemption/room/seating.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace reprieve {

/// Seats for groups that compete for few nodes, where no order of turns has found any: goes through
/// the ways to share out the nodes, as many pods of a group on each as fit first. It finds seats
/// where there are some, unless that takes more than `most_steps` looks at a node.
class seat_search {
public:
  /// `rooms` has a row of amounts for each of the nodes; groups are seated in order of `turns`.
  seat_search(const problem& given, std::span<const node_row> nodes, std::span<const turn> turns,
              std::vector<std::int64_t> rooms, std::size_t most_steps);

  /// Leaves `found` as it is where it finds none.
  bool run(seating& found);

private:
  bool seat(std::size_t at, std::size_t position, std::size_t lacking);
  /// Whether each group from this turn on would find its seats if it were alone.
  bool each_may_fit(std::size_t at);
  std::size_t seats_on(std::size_t position, std::size_t group, std::size_t most);
  void take(std::size_t position, std::size_t group, std::int64_t pods);

  const problem& given_;
  std::span<const node_row> nodes_;
  std::span<const turn> turns_;
  std::vector<std::int64_t> rooms_;
  std::size_t width_;
  std::size_t steps_left_;
  std::vector<std::size_t> seated_; ///< pods by turn, then node
};

} // namespace reprieve
