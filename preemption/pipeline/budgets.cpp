#include "preemption/pipeline/budgets.hpp"

#include <algorithm>

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

std::vector<budget_part> budget_parts(const cluster_view& view,
                                      std::span<const portion_row> victims) {
  std::vector<budget_part> parts(view.budget_rows());
  if (parts.empty())
    return parts;
  for (const auto victim : victims)
    for (const auto p : view.pods_of(victim))
      for (const auto row : view.budgets_of(p))
        parts[row].pods.push_back({view.pod_uid(p), std::string(view.node_name(view.node_of(p)))});
  for (std::uint32_t row = 0; row < parts.size(); ++row) {
    const auto allowed = std::max<std::int64_t>(view.disruptions_allowed(row), 0);
    parts[row].budget = view.budget_at(row).name;
    parts[row].over = std::max<std::int64_t>(std::ssize(parts[row].pods) - allowed, 0);
  }
  std::erase_if(parts, [](const budget_part& part) { return part.pods.empty(); });
  return parts;
}

} // namespace reprieve
