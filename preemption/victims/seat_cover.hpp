#pragma once

#include "preemption/problem/problem.hpp"
#include "preemption/room/domain_room.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace reprieve {

/// The least set of victims that makes room for a gang.
struct seat_victims {
  std::vector<portion_row> portions; ///< most important first
  bool cheapest = false;  ///< no set of portions that have their pods on one node each costs less
  std::int64_t bound = 0; ///< of `score::priority_sum`, where that is so and pods are minimised
};

/// Whether a search through all ways to share out the seats is worth its time there: few nodes, few
/// seats, and each node for one group.
bool may_share_out_seats(const problem& given, const domain_room& room);

/// Chooses among candidates, most important first, who makes the seats that the gang needs at the
/// least cost: looks for the least that makes so many seats on each node, and shares the seats out
/// by that. Of portions with pods on several nodes those go that `gone` says, and no others. Leaves
/// the room with nobody gone. Nothing where that is not enough.
std::optional<seat_victims> least_victims_for_seats(const problem& given, domain_room& room,
                                                    std::span<const portion_row> candidates,
                                                    std::span<const portion_row> gone,
                                                    std::size_t most_steps);

} // namespace reprieve
