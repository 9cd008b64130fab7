#pragma once

#include "preemption/policies/lifecycle/lifecycle_cycle.hpp"
#include "tests/support/cluster_builder.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace reprieve::tests {

/// A cluster with a plain scheduler of its own: it makes pods until each deployment has what is
/// committed, puts each on the first node with room, and stops the newest where there are too many.
/// All ask for whole GPUs.
struct counted_world {
  std::vector<reprieve::node> nodes;
  std::vector<pod> pods;
  lifecycle_cycle_input given;
  int made = 0;

  counted_world();

  counted_world& node(std::string name, std::int64_t gpus);
  counted_world& wants(std::string name, std::int32_t priority, std::int32_t replicas,
                       std::int64_t gpus = 1);

  /// Capped by demand. Without a queue, none has limits.
  counted_world& queue(std::string name, std::string parent = {}, std::int64_t limit = 0);

  lifecycle_outcome plan() const;
  /// Writes down what the cycle came to, as the shards do.
  void write(const lifecycle_outcome& outcome);
  /// What the cluster does by itself with the counts; those who are told to stop have ten seconds.
  void obey();
  /// Those who stop have gone.
  void let_go();
  void pass(std::chrono::seconds time) {
    given.now += time;
  }
  /// Plans, writes and obeys until nothing changes any more. False where that does not come.
  bool settle(int most = 50);

  counted_deployment& deployment(std::string_view name);
  const placement* share(std::string_view deployment) const;
  std::int32_t committed(std::string_view deployment) const;
  std::size_t running(std::string_view deployment) const;
};

} // namespace reprieve::tests
