#pragma once

#include "preemption/policies/required_node/victim_classes.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace reprieve {

/// Whom a strategy picks on a required node, or why nobody (docs/policies.md#required-node).
struct selection {
  enum class failure {
    none,
    too_little, ///< what may go does not free enough
    too_far,    ///< who frees enough is too far from the request in size
    too_many    ///< more would have to go than may
  };

  std::vector<std::size_t> picked; ///< positions among the possible victims
  failure failed = failure::none;
  std::size_t closest = 0; ///< of those too far: the position of the nearest in size
  std::size_t needed = 0;  ///< of those too many: how many it would take
};

/// How far what a victim holds is from the whole request, as a part of the request: of the resource
/// that is farthest off, among those that the pod asks for. Its place among the node's pods is no
/// such resource, as every pod takes one.
fraction deviation_of(const cluster_view& view, amounts held, amounts request);

/// One victim that frees enough by itself: the closest to the request, within `deviation_percent`
/// of it, of the first class that has one. A class comes before closeness: a regular pod goes
/// before an owner that is closer.
selection pick_single(const cluster_view& view, std::span<const possible_victim> victims,
                      const wanted_room& wanted, std::int32_t deviation_percent);

/// The largest first, class by class, until they free enough together. Then those stay after all
/// that the others make up for, in the opposite order to who goes: the last class first, in it the
/// highest priority, then the oldest. So what is spared is what weighs most.
selection pick_multiple(std::span<const possible_victim> victims, const wanted_room& wanted,
                        std::int64_t most);

} // namespace reprieve
