#include "preemption/problem/node_filter.hpp"

#include <algorithm>

namespace reprieve {

namespace {

bool all_tolerated(const std::vector<taint>& taints, const std::vector<toleration>& tolerations) {
  return std::ranges::all_of(taints, [&](const taint& t) {
    return std::ranges::any_of(tolerations, [&](const auto& by) { return tolerates(by, t); });
  });
}

} // namespace

bool may_run_on(const pod_group& group, const node& n) {
  return (group.required_node.empty() || group.required_node == n.name)
         && matches(group.pods.node_selector, n.labels)
         && all_tolerated(n.taints, group.pods.tolerations);
}

node_filter::node_filter(const cluster_view& view, const demand& asked)
    : view_(view), asked_(asked),
      parts_((view.node_rows() + nodes_at_a_time - 1) / nodes_at_a_time),
      known_(asked.groups.size() * parts_) {}

suitability node_filter::of(std::size_t group, node_row n) const {
  auto& part = known_[group * parts_ + n / nodes_at_a_time];
  if (!part)
    part = std::make_unique<judged>();
  auto& known = (*part)[n % nodes_at_a_time];
  if (known == suitability::unknown)
    known = judge(asked_.groups[group], n);
  return known;
}

bool node_filter::suits_any_group(node_row n) const {
  for (std::size_t g = 0; g < asked_.groups.size(); ++g)
    if (suits(g, n))
      return true;
  return false;
}

suitability node_filter::judge(const demanded_group& group, node_row n) const {
  const auto& wanted = *group.wanted;
  const auto& node = view_.node_at(n);
  if (!wanted.required_node.empty() && view_.node_name(n) != wanted.required_node)
    return suitability::other_node;
  if (!view_.usable(n))
    return suitability::not_usable;
  if (!matches(wanted.node_selector, node.labels))
    return suitability::not_selected;
  if (!all_tolerated(node.taints, wanted.tolerations))
    return suitability::not_tolerated;
  if (!std::ranges::all_of(wanted.topology_keys,
                           [&](const auto& key) { return node.labels.contains(key); }))
    return suitability::no_topology;
  if (!covers(view_.capacity(n), group.request))
    return suitability::too_small;
  return suitability::suitable;
}

suitability_counts count_nodes(const cluster_view& view, const node_filter& filter,
                               std::size_t group) {
  suitability_counts counts{};
  for (node_row n = 0; n < view.node_rows(); ++n)
    if (view.present(n))
      ++counts[static_cast<std::size_t>(filter.of(group, n))];
  return counts;
}

} // namespace reprieve
