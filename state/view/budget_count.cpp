#include "state/view/budget_count.hpp"

#include <algorithm>
#include <utility>

namespace reprieve {

namespace {

/// As budgets count it: it has its node and is not on its way out.
bool is_up(const pod& p) {
  return p.evicted_by.empty() && (p.phase == pod_phase::bound || p.phase == pod_phase::running);
}

} // namespace

void budget_count::put(const disruption_budget& budget) {
  table_.put(budget);
  changed_ = true;
}

void budget_count::remove(const std::string& name) {
  table_.remove(name);
  changed_ = true;
}

void budget_count::put(std::shared_ptr<const node_record> record) {
  const auto& name = record->spec->name;
  remove_node(name);
  auto& counted = nodes_[name];
  for (const auto& p : record->pods)
    if (takes_room(p.phase)) {
      const bool running = is_up(p);
      counted.pods.emplace_back(table_.add(p.labels, running), running);
    }
  counted.record = std::move(record);
}

void budget_count::remove_node(const std::string& name) {
  const auto found = nodes_.find(name);
  if (found == nodes_.end())
    return;
  for (const auto& [labels, running] : found->second.pods)
    table_.drop(labels, running);
  nodes_.erase(found);
}

void budget_count::forget_nodes() {
  while (!nodes_.empty())
    remove_node(std::string(nodes_.begin()->first));
}

void budget_count::expect(const string_map& labels, std::int64_t pods) {
  table_.expect(labels, pods);
}

std::optional<std::int64_t> budget_count::allowed(std::string_view budget) {
  if (std::exchange(changed_, false))
    table_.settle();
  for (std::uint32_t row = 0; row < table_.rows(); ++row)
    if (table_.at(row).name == budget)
      return table_.allowed(row);
  return std::nullopt;
}

std::int64_t budget_count::staying(const std::vector<victim_pod>& pods) const {
  return std::ranges::count_if(pods, [&](const victim_pod& one) {
    const auto on = nodes_.find(one.node);
    const pod* p = on == nodes_.end() ? nullptr : find_pod(*on->second.record, one.uid);
    return p != nullptr && is_up(*p);
  });
}

} // namespace reprieve
