#pragma once

#include "preemption/problem/problem.hpp"
#include "state/model/decision.hpp"

#include <optional>

namespace reprieve {

/// A score that no placement of a lone pod on the node is better than, by running sums and the
/// node's own pods. Nothing where no victims are enough.
std::optional<score> bound_on_node(const problem& given, node_row n);

/// The bound as it holds from `now` on: of a start that is not known it can't be told how late it
/// will be, and work is lost more and more.
score lasting(score bound, time_point now);

/// A score that no victims of a lone pod on the node are better than whose highest priority is that
/// of `found`: closer than a bound, since what each of them loses is looked up.
score floor_on_node(const problem& given, node_row n, const score& found);

/// A bound for all nodes of a block, without a look at any of them.
std::optional<score> bound_on_block(const problem& given, const node_block& block);

} // namespace reprieve
