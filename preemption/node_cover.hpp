#pragma once

#include "preemption/domain_room.hpp"
#include "preemption/problem.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace reprieve {

/// The least set of victims on one node.
struct node_victims {
  std::vector<portion_row> portions; ///< most important first
  bool proved = false;               ///< no set is better by priorities, pods and importance
  std::int64_t bound =
    0; ///< of `score::priority_sum`, where pods are minimised: nothing is below it
  std::size_t steps = 0; ///< of the search
};

/// Chooses among candidates, most important first, who makes room on the only node of the domain at
/// the least cost. Looks at amounts only: budgets and cascades are for others to see. Nothing where
/// none was found in so many steps.
std::optional<node_victims> least_victims_on_node(const problem& given, domain_room& room,
                                                  std::span<const portion_row> candidates,
                                                  std::size_t most_steps);

/// Likewise those who give at least `lacking` there, by column. Nobody at all where that is more
/// than they hold together.
std::optional<node_victims> least_victims_who_give(const problem& given, node_row n,
                                                   amounts lacking,
                                                   std::span<const portion_row> candidates,
                                                   std::size_t most_steps);

} // namespace reprieve
