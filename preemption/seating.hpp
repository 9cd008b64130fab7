#pragma once

#include "preemption/domains.hpp"
#include "preemption/seating_order.hpp"
#include "preemption/trial.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <set>
#include <span>
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

/// The level of an opening where nobody has to go.
inline constexpr std::int64_t nobody_goes = std::numeric_limits<std::int64_t>::min();

/// A node that offers more room once everybody up to a priority has gone from it.
struct opening {
  std::int64_t level = nobody_goes;
  node_row node = no_row;
  std::size_t step = 0;
};

/// The position of the first step below `priority` on the node; the number of steps if none is.
std::size_t first_step_below(const cluster_view& view, node_row n, std::int32_t priority);

/// The step a node is opened to at a level.
std::size_t step_at(const cluster_view& view, node_row n, std::int64_t level);

/// What the domain's nodes offer to a preemptor of `priority`, lowest level first, then by name.
std::vector<opening> openings_of(const cluster_view& view, const domain& where,
                                 std::int32_t priority);

/// Finds seats for the pods of one preemptor.
class seater {
public:
  explicit seater(const problem& given)
      : view_(given.view), asked_(given.asked), filter_(given.filter),
        turns_(hardest_first(given)) {}

  /// Gives seats to as many pods as each group needs, at the lowest levels that have room; claims
  /// and opens in `tried`. False where one group lacks seats.
  ///
  /// For pods of one template the level of the last seat is the threshold N of DESIGN 3.1 step 7:
  /// every seat at a lower level was taken before. With several templates it is the lowest at which
  /// seating the hardest first succeeds.
  bool seat_by_level(trial& tried, std::span<const opening> openings, seating& found) const;

  /// Likewise, with every node opened to `level` from the start, and the tightest nodes filled
  /// first: finds seats for groups of different templates where going by level wastes room.
  bool seat_packed(trial& tried, std::span<const node_row> nodes, std::int64_t level,
                   seating& found) const;

  /// Gives seats in the room there is, by name of node: to as many pods as each group needs.
  /// False where one group lacks seats.
  bool seat_needed(trial& tried, std::span<const node_row> nodes, seating& found) const;

  /// Likewise to pods beyond those needed, as many as fit.
  void seat_the_rest(trial& tried, std::span<const node_row> nodes, seating& found) const;

private:
  void seat_in_room(trial& tried, std::span<const node_row> nodes, std::size_t group,
                    std::size_t most, seating& found) const;
  void seat_on(trial& tried, node_row n, std::size_t group, seating& found) const;

  const cluster_view& view_;
  const demand& asked_;
  const node_filter& filter_;
  std::vector<turn> turns_;
};

} // namespace reprieve
