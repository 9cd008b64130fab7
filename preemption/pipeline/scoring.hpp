#pragma once

#include "state/model/decision.hpp"
#include "state/model/resource_group.hpp"
#include "state/view/cluster_view.hpp"

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

/// What the going of a portion adds to `score::priority_sum`: below 2^32 for each pod, so that a
/// sum over fewer than 2^31 pods stays within 63 bits.
inline std::int64_t priority_weight(const portion_card& card) {
  return std::int64_t{card.pods} * (std::int64_t{card.priority} + (std::int64_t{1} << 31));
}

/// GPU-seconds that a portion's pods have worked since their last checkpoints.
std::int64_t work_lost(const cluster_view& view, portion_row p, time_point now);

/// `victims`, most important first, with what their going costs.
std::vector<evicted_portion> cost_of(const cluster_view& view, std::span<const portion_row> victims,
                                     time_point now);

score score_of_nobody(time_point now);
/// That nothing is better than.
score best_score();
/// Adds a victim that is not more important than those before it.
void add_to(score& total, const portion_card& card, std::int64_t pods_over_budget,
            std::int64_t work_lost, time_point now);
score score_of(const cluster_view& view, std::span<const evicted_portion> victims, bool cascades,
               time_point now);

/// Whether `a` is better than `b` (docs/policies.md#workload-aware step 9).
bool better(const score& a, const score& b, minimise minimised);

/// Whether `a` costs less than `b`, however important those are who go.
bool cheaper(const score& a, const score& b, minimise minimised);

/// Why `loser` is not as good as `winner`, in a sentence without its end; empty where they are
/// equal.
std::string why_worse(const score& loser, const score& winner, minimise minimised);

} // namespace reprieve
