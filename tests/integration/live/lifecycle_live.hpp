#pragma once

#include "tests/integration/live/live_cluster.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <string>

/// A cluster with a scheduler of its own (docs/policies.md#lifecycle) under a real daemon: the
/// resource group `edge`. Each node has its own name as the label `site`.
namespace reprieve {

struct deployment_shape {
  int priority = 0;
  int replicas = 1;
  int gpus = 1;
  std::string site{}; ///< where its pods have to run; empty for any
  std::string grace = "1s";
  std::string annotations{};
  std::string queue = "default";
  std::string more{}; ///< of the spec
};

std::string deployment_of(const std::string& name, const deployment_shape& shape);

/// Its site is its own name unless told otherwise.
std::string edge_node(const std::string& name, int gpus, const std::string& site = {});

/// Annotations with which a pod does not end before it is force-deleted, or not even then.
inline const std::string stops_slowly = "simulation/stop-takes: 120s";
inline const std::string is_stuck = "simulation/stop-takes: 120s, simulation/stuck-for: 120s";
/// With which the cluster does not act on a lower count for long.
inline const std::string is_scaled_slowly = "simulation/scale-down-takes: 120s";

class lifecycle_live : public testing::Test {
protected:
  void SetUp() override;

  /// Applies it and waits until all its replicas run.
  void run(const std::string& name, const deployment_shape& shape);

  /// Waits until it has so many committed replicas, and as many pods that stay; the test fails
  /// where that does not come.
  void comes_to(const std::string& deployment, int replicas);

  /// Waits until the deployment waits for the room on exactly these nodes, one for each replica it
  /// lacks.
  void waits_on(const std::string& deployment, const std::multiset<std::string>& nodes);

  /// Nothing changes for a second, whatever the cycles look at.
  void stays_so();

  int committed(const std::string& deployment) const;
  /// Pods of it in that phase, on that node or on any.
  int pods(const std::string& deployment, const std::string& phase,
           const std::string& node = {}) const;
  std::multiset<std::string> nominated(const std::string& deployment) const;
  /// What `get placements` prints.
  std::string placements() const;

  live_cluster cluster_;
};

} // namespace reprieve
