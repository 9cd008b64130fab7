#pragma once

#include "preemption/problem/preemptor.hpp"
#include "state/view/cluster_view.hpp"

#include <cstddef>
#include <cstdint>

namespace reprieve {

/// A full cluster for measurements: every node has room for just the pods it runs, which are of one
/// size, of eight priorities, and of workloads that go whole where they have more than one pod.
struct synthetic_cluster {
  std::size_t nodes = 1000;
  std::size_t pods_per_node = 30;
  std::size_t group_size = 1; ///< pods of a workload; neighbours by name run them
  std::uint64_t seed = 1;

  static constexpr time_point now{std::chrono::hours{24 * 365 * 56}};

  node node_at(std::size_t number) const;
  /// Pod `k` of the node of this number. Those of one `k` are of neighbouring workloads, so that a
  /// workload spans neighbouring nodes.
  pod pod_at(std::size_t number, std::size_t k) const;
  cluster_view view() const;
  /// Pods of the size of those that run, more important than most of them. Different numbers ask
  /// for different multiples of what they run on, the same each time.
  preemptor lone_pod(std::size_t number) const;
  preemptor gang(std::size_t number, std::size_t pods) const;
  /// More than any node has.
  preemptor too_large(std::size_t number) const;
};

} // namespace reprieve
