#pragma once

#include "state/model/workload.hpp"

namespace reprieve {

/// What becomes of preempted work (docs/policies.md#sessions). Nothing else about it changes: its
/// configuration, its metadata and its place in the queue (`workload_status::submitted`) stay what
/// they are, so that it becomes pending again as the workload that it was.
struct resumption {
  bool comes_back = false;
  time_point not_before = no_time; ///< when it may be tried again, where it comes back

  bool operator==(const resumption&) const = default;
};

/// Of something of a workload that is preempted now, for the so manyth time: of many pods that come
/// and go one by one, each has its own number.
///
/// By kind, batch work comes back if it has checkpoints. Interactive work needs somebody to take it
/// up again, and inference without autoscaling is not missed by anything: neither comes back unless
/// asked to. A limit on attempts holds for all of these. Daemons, deployments and autoscaled
/// inference are not runs with an end but pods that are to be there: they come back each time.
resumption resume(const workload& w, std::int32_t attempts, time_point now);

} // namespace reprieve
