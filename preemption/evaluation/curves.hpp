#pragma once

#include "preemption/pipeline/candidates.hpp"
#include "preemption/problem/problem.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace reprieve {

/// How many pods of one template fit on some nodes if everybody up to a level goes, for every level
/// present (docs/protocol.md#messages-of-a-decision). Curves of disjoint nodes add up to the curve
/// of all of them.
struct capacity_curve {
  struct point {
    std::int64_t level = 0;
    std::int64_t seats = 0;

    bool operator==(const point&) const = default;
  };

  std::int64_t free = 0;     ///< seats where nobody goes
  std::vector<point> points; ///< lowest level first, each with more seats than the one before

  std::int64_t seats_at(std::int64_t level) const;
  /// The lowest level at which `needed` pods fit: `nobody_goes` where nobody has to; nothing where
  /// they never fit.
  std::optional<std::int64_t> lowest_level(std::int64_t needed) const;

  bool operator==(const capacity_curve&) const = default;
};

/// The curve of each of the preemptor's groups, by itself, on the nodes that suit it.
std::vector<capacity_curve> curves_of(const problem& given, const candidate_rules& rules,
                                      std::span<const node_row> nodes);

capacity_curve sum_of(const capacity_curve& a, const capacity_curve& b);

/// What the curves say of the threshold: no lower one is enough for every group.
std::optional<std::int64_t> least_threshold(const problem& given,
                                            std::span<const capacity_curve> curves);

} // namespace reprieve
