#pragma once

#include "tests/engine/worlds/plan_reading.hpp"

#include <string>
#include <utility>
#include <vector>

/// Words for tests of a pod that is bound to a node (docs/policies.md#required-node).
namespace reprieve::tests {

/// A log collector that belongs on n1.
template <class... Traits>
preemptor collector(const Traits&... traits) {
  return lone("logs", prio(100), required{"n1"}, traits...);
}

/// As the builder names a workload's first pod.
inline std::string uid_of(const std::string& workload) {
  return workload + "-g0-0-0";
}

struct owned_by {
  std::string workload;

  void operator()(pod& p) const {
    p.owner = uid_of(workload);
  }
};

inline plan_settings by(std::vector<victim_strategy> strategies) {
  auto settings = open_settings();
  settings.group.required_node.strategies = std::move(strategies);
  return settings;
}

inline plan_settings by_single(std::int32_t deviation_percent) {
  auto settings = by({victim_strategy::single});
  settings.group.required_node.deviation_percent = deviation_percent;
  return settings;
}

inline plan_settings by_multiple(std::int32_t max_victims) {
  auto settings = by({victim_strategy::multiple});
  settings.group.required_node.max_victims = max_victims;
  return settings;
}

} // namespace reprieve::tests
