#pragma once

#include "state/resources.hpp"

#include <cstdint>
#include <string>

namespace reprieve {

/// A share of the cluster; queues form a tree by `parent`.
struct queue {
  std::string name;
  std::string parent; ///< empty for a queue at the top
  std::int64_t weight = 1;
  resources guaranteed;
  resources limit; ///< a resource that is not named is not limited
  bool cap_by_demand = false;

  bool operator==(const queue&) const = default;
};

/// What the queue stage computes (seed 001).
struct queue_status {
  resources deserved;
  resources allocated;
  resources used;
  resources preempting;

  bool operator==(const queue_status&) const = default;
};

} // namespace reprieve
