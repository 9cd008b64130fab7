#pragma once

#include "testbed/stored/stored_cluster.hpp"
#include "testbed/stored/stored_decisions.hpp"

#include <absl/status/statusor.h>

#include <string>
#include <vector>

namespace reprieve {

struct takeover_settings {
  std::string program;  ///< the path of `reprieved`
  std::string commands; ///< the path of `reprieve`, which plays the machines
  std::vector<std::string> etcd;
  stored_cluster made_up;
  stored_decisions past = {};        ///< that are in the store as well
  std::string prefix = "/takeover/"; ///< of the keys in etcd
};

/// Seconds from the moment at which the store had no record of the owner any more.
struct takeover_times {
  double read = 0;      ///< until a read is answered that the new owner confirmed
  double submitted = 0; ///< until a submission is acknowledged
  double decided = 0;   ///< until a preemption by the new owner is committed
  /// What an `explain` takes before that, where there are decisions of the past: the median of some
  /// for a workload, a pod and a decision.
  double explained = 0;
};

/// Writes the cluster to etcd and has two real replicas serve it; kills the one that owns all of it
/// and looks how long the other takes.
absl::StatusOr<takeover_times> measure_takeover(const takeover_settings& settings);

} // namespace reprieve
