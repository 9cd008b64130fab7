#pragma once

#include "preemption/evaluation/evaluation.hpp"
#include "tests/support/cluster_builder.hpp"

#include <cstddef>
#include <random>
#include <vector>

namespace reprieve::tests {

/// A cluster whose nodes are dealt out to shards at random, each of which has a view of its own
/// nodes and no other. Some shards may have none.
class sharded_cluster {
public:
  enum class cards { with, without }; ///< what whole replicas have on other shards' nodes

  sharded_cluster(const cluster& in, const cluster_view& merged, std::size_t shards,
                  std::mt19937_64& random, cards known = cards::with);

  /// The answers of all shards, in any order.
  std::vector<shard_evaluation> evaluated(const evaluation_request& asked,
                                          std::mt19937_64& random) const;

  const std::vector<cluster_view>& views() const {
    return views_;
  }

private:
  std::vector<cluster_view> views_;
};

/// Every node is full, with a pod each of eight groups that have their other pods on other nodes.
cluster full_of_groups(int nodes, std::mt19937_64& random);

} // namespace reprieve::tests
