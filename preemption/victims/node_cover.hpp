#pragma once

#include "preemption/problem/problem.hpp"
#include "preemption/room/domain_room.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace reprieve {

/// The least set of victims on one node.
struct node_victims {
  std::vector<portion_row> portions; ///< most important first
  bool proved = false;               ///< no set that may go is better
  std::int64_t bound =
    0; ///< of `score::priority_sum`, where pods are minimised: nothing is below it
  std::size_t steps = 0; ///< of the search
};

/// Whether these, most important first, may go.
using victims_judge = std::function<bool(std::span<const portion_row> victims)>;

/// Chooses among candidates, most important first, who makes room on the only node of the domain at
/// the least cost. Looks at amounts only: budgets and cascades are for others to see, who may have
/// a word. Nothing where none was found in so many steps; nobody where nobody may go.
std::optional<node_victims> least_victims_on_node(const problem& given, domain_room& room,
                                                  std::span<const portion_row> candidates,
                                                  std::size_t most_steps,
                                                  const victims_judge& may_go = {});

/// Likewise those who give at least `lacking` there, by column. Nobody at all where that is more
/// than they hold together. Without `spare_the_important` that does not count, for somebody who
/// sees to it.
std::optional<node_victims>
least_victims_who_give(const problem& given, node_row n, amounts lacking,
                       std::span<const portion_row> candidates, std::size_t most_steps,
                       const victims_judge& may_go = {}, bool spare_the_important = true);

/// As far as the score looks.
bool are_as_important(const portion_card& a, const portion_card& b);

/// What the going of a portion costs, by the measure that is minimised, and by the one that counts
/// when it is the same.
struct cost_of_going {
  std::int64_t first = 0;
  std::int64_t second = 0;
};

cost_of_going cost_of_going_of(const problem& given, portion_row p);

} // namespace reprieve
