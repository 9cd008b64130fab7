#pragma once

#include "state/view/budget_count.hpp"
#include "state/view/cluster_view.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace reprieve {

/// How far victims use up the disruption budgets, portion by portion.
class budget_use {
public:
  explicit budget_use(const cluster_view& view) : view_(view), gone_(view.budget_rows()) {}

  /// The portion goes, after all those before it. Returns how many of its pods, wherever they run,
  /// go beyond what a budget allows.
  std::int64_t add(portion_row p);
  /// The portion that was added last stays after all.
  void remove(portion_row p);

private:
  const cluster_view& view_;
  std::vector<std::int64_t> gone_; ///< pods by budget
};

/// For each of `portions` what `budget_use::add` says when all go in this order.
std::vector<std::int64_t> pods_over_budget(const cluster_view& view,
                                           std::span<const portion_row> portions);

/// What these victims, who go in this order, take from each budget, in order of name.
std::vector<budget_part> budget_parts(const cluster_view& view,
                                      std::span<const portion_row> victims);

} // namespace reprieve
