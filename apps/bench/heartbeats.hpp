#pragma once

#include "apps/cli/output.hpp"

#include <cstddef>
#include <cstdint>

namespace reprieve::bench {

struct heartbeats_request {
  std::uint32_t shards = 4; ///< of nodes, and as many of workloads
  std::size_t threads = 2;
  std::size_t nodes = 100'000;
  std::size_t pods_per_node = 1;
  std::size_t per_second = 10'000;
  std::size_t per_message = 1; ///< nodes that one message speaks for
  std::size_t agents = 128;    ///< connections
  std::size_t seconds = 10;
};

/// Runs a whole replica in this process on a store in memory, serves the API on the loopback, and
/// has another process send heartbeats at that rate; prints what processor time this process takes
/// for that, and while it is idle, and how long the answer to `get node` takes in both.
int heartbeats(const heartbeats_request& wanted, cli::output as);

} // namespace reprieve::bench
