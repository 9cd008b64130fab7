#pragma once

#include "apps/cli/output.hpp"

#include <cstddef>
#include <cstdint>

namespace reprieve::bench {

struct waiting_request {
  std::uint32_t shards = 8; ///< of nodes, and as many of workloads
  std::size_t threads = 2;
  std::size_t nodes = 500;
  std::size_t pods_per_node = 30;
  std::size_t waiting = 10'000;
  std::size_t kinds = 500;
  std::size_t queues = 20;
  std::size_t placements = 5000;
  std::size_t one_by_one = 1000;
  std::size_t rounds = 3;
  std::size_t pods_of_each = 1; ///< of those workloads that wait
  bool gangs = false;           ///< they wait to start together
  std::size_t running = 0; ///< pods of one workload that run meanwhile, in a queue of their own
  double most_times = 1.5;
};

/// Runs a whole replica in this process on a store in memory and a simulated cluster, and prints
/// what a placement costs while nobody waits, and while so many wait in vain: for more than their
/// queue's limit, for more than any node has, and for room that only others of their own priority
/// have; and while one workload of that many pods runs. Fails where the second is more than
/// `most_times` the first.
int waiting(const waiting_request& wanted, cli::output as);

} // namespace reprieve::bench
