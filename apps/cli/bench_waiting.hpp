#pragma once

#include "apps/cli/commands.hpp"

#include <cstddef>
#include <cstdint>

namespace reprieve::cli {

struct bench_waiting_request {
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
};

/// Runs a whole replica in this process on a store in memory and a simulated cluster, and prints
/// what a placement costs while nobody waits, and while so many wait in vain: for more than their
/// queue's limit, for more than any node has, and for room that only others of their own priority
/// have. Fails where the second is more than one and a half times the first.
int bench_waiting(const bench_waiting_request& wanted, output as);

} // namespace reprieve::cli
