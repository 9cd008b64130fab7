#include "preemption/budgets.hpp"

namespace reprieve {

std::vector<std::int64_t> pods_over_budget(const cluster_view& view,
                                           std::span<const portion_row> portions) {
  std::vector<std::int64_t> over(portions.size());
  if (view.budget_rows() == 0)
    return over;
  std::vector<std::int64_t> gone(view.budget_rows());
  for (std::size_t i = 0; i < portions.size(); ++i)
    for (const auto p : view.pods_of(portions[i])) {
      bool exceeds = false;
      for (const auto budget : view.budgets_of(p))
        if (++gone[budget] > view.disruptions_allowed(budget))
          exceeds = true;
      over[i] += exceeds ? 1 : 0;
    }
  return over;
}

} // namespace reprieve
