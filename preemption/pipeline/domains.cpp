#include "preemption/pipeline/domains.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace reprieve {

namespace {

/// The node's domain, such as `zone=a,rack=7`, or nothing where a key is not among its labels.
std::optional<std::string> domain_of(const node& n, const std::vector<std::string>& keys) {
  std::string name;
  for (const auto& key : keys) {
    const auto label = n.labels.find(key);
    if (label == n.labels.end())
      return std::nullopt;
    name += fmt::format("{}{}={}", name.empty() ? "" : ",", key, label->second);
  }
  return name;
}

} // namespace

std::vector<std::string> topology_keys_of(const preemptor& who) {
  std::vector<std::string> keys;
  for (const auto& group : who.groups)
    for (const auto& key : group.topology_keys)
      if (std::ranges::find(keys, key) == keys.end())
        keys.push_back(key);
  return keys;
}

domain_set domain_set::single_nodes(const problem& given) {
  const auto& view = given.view;
  domain_set set;
  for (std::size_t b = 0; b < view.blocks().count(); ++b)
    for (const auto n : view.blocks().at(b).nodes)
      if (given.filter.suits_any_group(n))
        set.single_nodes_.push_back(n);
  set.domains_.reserve(set.single_nodes_.size());
  for (const auto& n : set.single_nodes_)
    set.domains_.push_back({view.node_name(n), {&n, 1}});
  return set;
}

domain_set domain_set::for_gang(const problem& given) {
  const auto& view = given.view;
  const bool budgets = view.budget_rows() > 0;
  std::vector<node_row> suitable;
  std::vector<node_row> others;
  for (std::size_t b = 0; b < view.blocks().count(); ++b)
    for (const auto n : view.blocks().at(b).nodes)
      if (given.filter.suits_any_group(n))
        suitable.push_back(n);
      else if (budgets)
        others.push_back(n);
  return among(given, suitable, others);
}

domain_set domain_set::among(const problem& given, std::span<const node_row> nodes,
                             std::span<const node_row> others) {
  domain_set set;
  set.add(given, nodes, &members::nodes);
  set.add(given, others, &members::others);
  for (const auto& [name, found] : set.named_)
    if (!found.nodes.empty())
      set.domains_.push_back({name, found.nodes, found.others});
  return set;
}

void domain_set::add(const problem& given, std::span<const node_row> nodes,
                     std::vector<node_row> members::*as) {
  const auto keys = topology_keys_of(given.who);
  if (keys.empty())
    (named_[given.settings.group.name].*as).assign(nodes.begin(), nodes.end());
  else
    for (const auto n : nodes)
      if (auto name = domain_of(given.view.node_at(n), keys))
        (named_[*std::move(name)].*as).push_back(n);
}

} // namespace reprieve
