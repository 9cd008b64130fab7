#include "preemption/room/seating.hpp"

#include <algorithm>

namespace reprieve {

std::set<node_row> nodes_of(const seating& found) {
  std::set<node_row> nodes;
  for (const auto& one : found.seats)
    nodes.insert(one.node);
  return nodes;
}

std::size_t step_at(const cluster_view& view, node_row n, std::int64_t level) {
  const auto steps = view.steps(n);
  const auto opened = std::ranges::partition_point(
    steps, [&](const priority_step& step) { return step.priority > level; });
  return static_cast<std::size_t>(opened - steps.begin());
}

} // namespace reprieve
