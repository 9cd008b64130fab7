#include "preemption/budgets.hpp"

namespace reprieve {

std::int64_t budget_use::add(portion_row p) {
  if (gone_.empty())
    return 0;
  std::int64_t over = 0;
  for (const auto one : view_.pods_of(p)) {
    bool exceeds = false;
    for (const auto budget : view_.budgets_of(one))
      if (++gone_[budget] > view_.disruptions_allowed(budget))
        exceeds = true;
    over += exceeds ? 1 : 0;
  }
  return over;
}

void budget_use::remove(portion_row p) {
  if (gone_.empty())
    return;
  for (const auto one : view_.pods_of(p))
    for (const auto budget : view_.budgets_of(one))
      --gone_[budget];
}

std::vector<std::int64_t> pods_over_budget(const cluster_view& view,
                                           std::span<const portion_row> portions) {
  budget_use used{view};
  std::vector<std::int64_t> over;
  over.reserve(portions.size());
  for (const auto p : portions)
    over.push_back(used.add(p));
  return over;
}

} // namespace reprieve
