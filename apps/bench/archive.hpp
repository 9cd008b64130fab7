#pragma once

#include "apps/cli/output.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace reprieve::bench {

struct archive_request {
  std::vector<std::string> etcd;  ///< `host:port` of its members; none: one is started
  std::size_t few = 1000;         ///< finished decisions, for comparison
  std::size_t many = 300'000;     ///< finished decisions
  std::size_t workloads = 1000;   ///< that they are about
  std::size_t nodes = 5000;       ///< of the cluster that is taken over
  std::size_t pods_per_node = 10; ///< likewise
};

/// Measures on etcd what `explain` takes, and how long a real replica takes to take a cluster over,
/// with few finished decisions in the store and with many. Ends with `failed` where a bound is
/// missed, and says which.
int archive(const archive_request& wanted, cli::output as);

} // namespace reprieve::bench
