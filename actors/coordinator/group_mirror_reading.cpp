#include "actors/coordinator/group_mirror.hpp"

#include <algorithm>

// What the mirror has, for a snapshot.

namespace reprieve {

/// What a cycle has promised and not begun with yet is not among them: its pods stand on their
/// nodes, and nobody can give it up.
std::vector<standing_decision> group_mirror::standing_decisions() const {
  std::vector<standing_decision> all;
  for (const auto& [id, d] : open_) {
    auto& one = all.emplace_back();
    one.id = id;
    one.workloads = d.workloads;
    for (const auto& p : d.placed)
      one.places.push_back({p->what().uid, p->what().node});
    for (const auto& gone : d.victims)
      one.victims.insert(one.victims.end(), gone.pods.begin(), gone.pods.end());
  }
  return all;
}

group_snapshot group_mirror::read_all() {
  const auto& settled = view();
  group_snapshot found;
  for (const auto& [name, entry] : nodes_)
    if (entry.record && entry.shown.shares_all_with(entry.record->pods))
      found.nodes.push_back(entry.record);
    else if (entry.record)
      found.nodes.push_back(std::make_shared<const node_record>(
        node_record{entry.record->spec, entry.shown, entry.record->status}));
  for (const auto& [name, entry] : workloads_)
    if (entry.stands.record())
      found.workloads.push_back(entry.stands.record());
  for (std::uint32_t row = 0; row < settled.budget_rows(); ++row)
    found.budgets.push_back(settled.budget_at(row));
  const auto by_name = [](const auto& one) -> const std::string& { return one->spec->name; };
  std::ranges::sort(found.nodes, {}, by_name);
  std::ranges::sort(found.workloads, {}, by_name);
  std::ranges::sort(found.budgets, {}, &disruption_budget::name);
  found.status.decisions = standing_decisions();
  return found;
}

} // namespace reprieve
