#pragma once

#include "apps/cli/output.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace reprieve::bench {

struct replicas_request {
  std::vector<std::string> etcd;       ///< `host:port` of its members; none: three are started
  std::size_t rounds = 5;              ///< of all that is compared; medians are told
  std::size_t milliseconds = 1000;     ///< of each measurement of puts and of submissions
  std::size_t clients = 128;           ///< that submit, each one workload at a time
  std::size_t nodes = 1000;            ///< of the cluster in which is preempted
  std::size_t pods_per_node = 30;      ///< likewise
  std::size_t preemptions = 1500;      ///< of each round
  std::size_t takeover_nodes = 50'000; ///< 0: nothing is taken over
  std::size_t takeover_pods_per_node = 10;
  std::size_t takeover_workload_size = 10; ///< pods of each workload there
};

/// Measures what replicas do on a three-member etcd, as ratios to plain puts in the same run:
/// submissions to a real server, preemptions of a replica in this process, with and without a store
/// that is slower, and how long another real replica takes to take over. Ends with `failed` where a
/// bound is missed, and says which.
int replicas(const replicas_request& wanted, cli::output as);

} // namespace reprieve::bench
