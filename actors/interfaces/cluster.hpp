#pragma once

#include "actors/caf.hpp"
#include "state/model/node.hpp"
#include "state/records/pod_list.hpp"
#include "state/store/store.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace reprieve {

/// How a pod fares, as the cluster that runs it says.
struct pod_report {
  enum class what {
    running,
    stopped,
    succeeded,
    failed,
    placed,      ///< by the cluster's own scheduler
    terminating, ///< likewise
    forgotten,   ///< its machine does not know it, though it was started there
    came_back    ///< the machine itself, of no pod: it may have forgotten what it ran
  };

  std::string uid;
  std::string node;
  what happened = what::running;
  time_point at = no_time;
  pod_list::pointer placed; ///< the pod that the cluster placed; null for all other reports
};

/// Of pods that the same observer asked for, or on nodes that it watches; what comes together is
/// told together.
using pod_reports = std::vector<pod_report>;

} // namespace reprieve

REPRIEVE_MESSAGE(reprieve::pod_reports)

namespace reprieve {

/// Whoever wants to know how its pods fare: a node shard.
using pod_observer_actor = typed_actor<handles<void(pod_reports)>>;

/// Start this pod on its node, if it was not started before; report either way. Only for a pod of
/// which nobody has heard that it was started: of all others is asked how they fare.
struct start_order {
  pod_list::pointer what;
  revision epoch = 0;
  pod_observer_actor report_to;
};

/// Report how this pod fares, which was started before: nothing is started for it. A machine that
/// does not know it reports it as forgotten.
struct pod_question {
  std::string uid;
  std::string node;
  pod_phase phase = pod_phase::running; ///< as far as is known
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

// What follows is for resource groups whose cluster has a scheduler of its own
// (docs/policies.md#lifecycle).

/// The nodes of a shard, all there are: tell how the pods fare that the cluster places there, those
/// that are there or have been first.
struct watch_nodes {
  std::string shard;
  std::vector<node> nodes;
  revision epoch = 0;
  pod_observer_actor report_to;
};

/// Have so many replicas of a deployment in the cluster. Those that are too many terminate, with
/// the grace period of their own; those that lack are placed as there is room. The place of one
/// that was ordered to stop is not filled before a count has come that was told after it, or a
/// second has passed.
struct count_order {
  std::string resource_group; ///< that stands for the cluster
  pod_list::pointer what;     ///< a replica, without name, uid and node
  std::string uid;            ///< of the workload
  string_map node_selector;
  std::vector<toleration> tolerations;
  std::int32_t count = 0;
  /// Uids of replicas that are expected to go, where some are too many: others wait for their room.
  /// A cluster that can choose takes these first.
  std::vector<std::string> first_to_go;
  revision epoch = 0;
};

/// These are all deployments that are counted in the cluster, whatever was said before. Pods of
/// others are not counted any more, and stay as they are.
struct count_only {
  std::string resource_group;
  std::vector<std::string> deployments; ///< in order of name
  revision epoch = 0;

  bool operator==(const count_only&) const = default;
};

/// Take a pod that terminates away now, whatever it is about.
struct delete_order {
  std::string uid;
  std::string node;
  std::string decision;
  revision epoch = 0;
  pod_observer_actor report_to;
};

} // namespace reprieve

REPRIEVE_MESSAGE(reprieve::start_order)
REPRIEVE_MESSAGE(reprieve::pod_question)
REPRIEVE_MESSAGE(reprieve::stop_order)
REPRIEVE_MESSAGE(reprieve::watch_nodes)
REPRIEVE_MESSAGE(reprieve::count_order)
REPRIEVE_MESSAGE(reprieve::count_only)
REPRIEVE_MESSAGE(reprieve::delete_order)

namespace reprieve {

/// What runs the pods. Orders come at least once; a cluster remembers what it did, and refuses
/// orders of an epoch older than the newest it has seen.
using cluster_actor =
  typed_actor<handles<void(start_order)>, handles<void(pod_question)>, handles<void(stop_order)>,
              /// From a node shard of a group whose cluster places pods by itself.
              handles<void(watch_nodes)>,
              /// From the coordinator of such a group.
              handles<void(count_order)>, handles<void(count_only)>,
              /// From a node shard of such a group.
              handles<void(delete_order)>>;

} // namespace reprieve
