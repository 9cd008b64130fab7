#pragma once

#include "apps/cli/output.hpp"

#include <cstddef>
#include <cstdint>

namespace reprieve::bench {

struct cluster_request {
  std::uint32_t shards = 8; ///< of nodes, and as many of workloads
  std::size_t threads = 2;
  std::size_t nodes = 5000;
  std::size_t pods_per_node = 30;
  std::size_t workload_size = 1; ///< pods of each workload that runs
  std::size_t preemptions = 10'000;
  std::size_t placements = 50'000;
};

/// Runs a whole replica in this process on a store in memory and a simulated cluster: places so
/// many workloads of one pod in the room there is, then as many more important ones as are to
/// preempt, and prints how fast that went and what it cost.
int cluster(const cluster_request& wanted, cli::output as);

} // namespace reprieve::bench
