#pragma once

#include "actors/caf.hpp"
#include "state/pod_list.hpp"
#include "state/store.hpp"

#include <string>
#include <vector>

namespace reprieve {

/// How a pod fares, as the cluster that runs it says.
struct pod_report {
  enum class what { running, stopped, succeeded, failed };

  std::string uid;
  std::string node;
  what happened = what::running;
  time_point at = no_time;
};

/// Of pods that the same observer asked for; what comes together is told together.
using pod_reports = std::vector<pod_report>;

} // namespace reprieve

REPRIEVE_MESSAGE(reprieve::pod_reports)

namespace reprieve {

/// Whoever wants to know how its pods fare: a node shard.
using pod_observer_actor = typed_actor<handles<void(pod_reports)>>;

/// Start this pod on its node, if it was not started before; report either way.
struct start_order {
  pod_list::pointer what;
  revision epoch = 0;
  pod_observer_actor report_to;
};

/// The whole schedule of a stop, so that the receiver goes on by itself when we can't.
struct stop_order {
  std::string uid;
  std::string node;
  std::string decision; ///< or why, where no decision asks
  duration checkpoint{0};
  duration grace{0};
  duration force{0}; ///< past the grace period
  revision epoch = 0;
  pod_observer_actor report_to;
};

} // namespace reprieve

REPRIEVE_MESSAGE(reprieve::start_order)
REPRIEVE_MESSAGE(reprieve::stop_order)

namespace reprieve {

/// What runs the pods. Orders come at least once; a cluster remembers what it did, and refuses
/// orders of an epoch older than the newest it has seen.
using cluster_actor = typed_actor<handles<void(start_order)>, handles<void(stop_order)>>;

} // namespace reprieve
