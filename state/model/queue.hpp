#pragma once

#include "state/quantities/resources.hpp"
#include "state/quantities/time.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace reprieve {

/// The most that submitters may ask for in a queue and in those below it. What is not set is left
/// to the queues above, of which the tightest counts.
struct queue_ceilings {
  std::optional<std::int32_t> priority;
  std::optional<std::int32_t> preemption_priority; ///< where it is not set, `priority` counts
  std::vector<std::string> priority_classes;       ///< that may be named; any where there are none
  std::optional<duration> minimum_runtime;
  std::optional<duration> grace_period;
  std::optional<duration> checkpoint_time;
  std::optional<std::int64_t> protected_pods; ///< of a workload
  bool required_nodes = true;                 ///< whether pods may name the node that they need
  bool daemons = true;
  std::optional<std::int64_t> pods_per_workload;
  std::optional<std::int64_t> pods; ///< that all workloads here and below ask for
  /// Of the labels and annotations of a workload and its pod templates.
  std::optional<std::int64_t> annotation_bytes;

  bool operator==(const queue_ceilings&) const = default;
};

/// A share of the cluster; queues form a tree by `parent`.
struct queue {
  std::string name;
  std::string parent; ///< empty for a queue at the top
  std::int64_t weight = 1;
  resources guaranteed;
  resources limit; ///< a resource that is not named is not limited
  bool cap_by_demand = false;
  queue_ceilings ceilings{};

  bool operator==(const queue&) const = default;
};

/// What the queue stage computes (docs/policies.md#queues).
struct queue_status {
  resources deserved;
  resources allocated;
  resources used;
  resources preempting;

  bool operator==(const queue_status&) const = default;
};

} // namespace reprieve
