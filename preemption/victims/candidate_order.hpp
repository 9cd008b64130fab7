#pragma once

#include "preemption/problem/problem.hpp"
#include "preemption/room/domain_room.hpp"

#include <cstdint>
#include <vector>

/// Orders of candidates by what they hold of what the preemptor lacks: rules of thumb for who comes
/// back first, so that those go who make most room.
namespace reprieve {

/// The amounts that a pod asks for of what the domain is short of as long as nobody goes; zero of
/// all else. Leaves the room as it came to be.
std::vector<std::int64_t> what_is_short(const problem& given, domain_room& room);

/// Who holds least of the wanted amounts comes first, by the resource that it holds most of; who
/// holds the same stays in order.
void put_the_largest_last(const cluster_view& view, const domain_room& room, amounts wanted,
                          std::vector<portion_row>& candidates);

/// On the only node of the room somebody has to make up for what is scarcest there; who holds none
/// of it need not go, and comes first.
void put_those_first_who_hold_little(const problem& given, const domain_room& room,
                                     std::vector<portion_row>& candidates);

} // namespace reprieve
