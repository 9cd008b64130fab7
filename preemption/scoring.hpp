#pragma once

#include "state/cluster_view.hpp"
#include "state/decision.hpp"
#include "state/resource_group.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace reprieve {

/// A portion that goes, as the score sees it.
struct evicted_portion {
  portion_row portion = no_row;
  std::vector<pod_row> pods; ///< wherever they run
  std::int64_t pods_over_budget = 0;
  std::int64_t work_lost = 0; ///< GPU-seconds
};

/// `victims`, most important first, with what their going costs.
std::vector<evicted_portion> cost_of(const cluster_view& view, std::span<const portion_row> victims,
                                     time_point now);

score score_of(const cluster_view& view, std::span<const evicted_portion> victims, bool cascades,
               time_point now);

/// Whether `a` is better than `b` (DESIGN 3.1 step 9).
bool better(const score& a, const score& b, minimise minimised);

/// Why `loser` is not as good as `winner`, in a sentence without its end; empty where they are
/// equal.
std::string why_worse(const score& loser, const score& winner, minimise minimised);

} // namespace reprieve
