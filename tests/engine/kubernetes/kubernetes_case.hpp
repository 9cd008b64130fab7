#pragma once

#include "preemption/engine.hpp"
#include "tests/support/cluster_builder.hpp"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// Small clusters on which kube-scheduler's preemption was asked, as our model has them.
namespace reprieve::tests {

/// Those who want in: a pod, or a group of which at least `least` must come.
struct wanted_pods {
  bool group = false;
  std::size_t least = 1;
  std::int32_t priority = 0;
  bool may_preempt = true;
  std::vector<pod> pods;
};

struct kubernetes_case {
  std::vector<node> nodes;
  std::vector<pod> pods;
  std::vector<disruption_budget> budgets;
  wanted_pods wanted;
  time_point now = no_time;
};

kubernetes_case read_kubernetes_case(const nlohmann::json& given);

/// Nodes are to be tried in the order in which they are listed: the order of these names.
std::string name_of_listed(std::size_t position, std::string_view node);
std::string listed_name(std::string_view name);

/// What is decided in the setting that follows kube-scheduler, on any node or on the required one.
/// Of a group that can't come whole, one pod after the other comes that finds room beside those
/// before it; victims are looked for even where these few would fit without.
plan decide_as_kubernetes(const kubernetes_case& read, const std::string& required_node = {});

/// Whether the first of two units is more important.
bool first_is_more_important(const nlohmann::json& first, const nlohmann::json& second);

} // namespace reprieve::tests
