#pragma once

#include "preemption/pipeline/candidates.hpp"
#include "preemption/problem/effort.hpp"
#include "preemption/room/domain_room.hpp"

#include <cstdint>
#include <set>
#include <span>
#include <vector>

namespace reprieve {

/// Victims whose going makes room for the preemptor at little cost, wherever in the domain it then
/// sits. A portion that goes leaves room on all its nodes, and all of it counts.
///
/// `room` is of the domain; it is left as it came to be. Nobody above `level` goes, and with
/// everybody up to it gone the preemptor fits.

/// Everybody up to the level goes; then whoever is not needed comes back, most important first, as
/// `candidates` are.
std::vector<portion_row> spare_the_important(domain_room& room,
                                             std::span<const portion_row> candidates,
                                             std::int64_t level, effort& spent);

/// Nobody goes at first; then, until there are seats enough, whoever gives most seats for the least
/// cost: single portions, or the few on one node that make a seat together. Only where the room
/// counts seats. Those `kept` stay.
std::vector<portion_row> buy_cheapest_seats(const problem& given, const candidate_rules& rules,
                                            const std::set<portion_row>& kept, domain_room& room,
                                            std::int64_t level, effort& spent);

} // namespace reprieve
