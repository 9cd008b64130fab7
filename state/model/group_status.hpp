#pragma once

#include "state/model/decision.hpp"
#include "state/model/queue.hpp"
#include "state/quantities/resources.hpp"
#include "state/quantities/time.hpp"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace reprieve {

/// A decision under way, as far as the next ones depend on it. The pods themselves stand where the
/// other pods do, with its id in `placed_by` or `evicted_by`.
struct standing_decision {
  std::string id;
  decision_phase phase = decision_phase::preparing;
  bool told = false; ///< its victims can't come back any more
  std::vector<std::string> workloads;
  std::vector<victim_pod> places; ///< that it nominates or binds
  /// That go by it. One that has gone may be among them still: until its workload knows that it
  /// goes, nobody comes in its stead.
  std::vector<victim_pod> victims;

  bool operator==(const standing_decision&) const = default;
};

/// A node that is kept for a pod which can run nowhere else (docs/policies.md#required-node).
struct node_reservation {
  std::string uid; ///< of the pod that waits
  std::string node;
  time_point since = no_time;

  bool operator==(const node_reservation&) const = default;
};

/// What a resource group's coordinator goes by beside the records: all that a snapshot says of the
/// group itself.
struct group_status {
  /// By queue, what pods of the group may use; nothing where that is not known.
  std::optional<std::map<std::string, resources, std::less<>>> grants;
  /// How the queues stood when the newest cycle began; nothing where none has run.
  std::optional<std::map<std::string, queue_status, std::less<>>> queues;
  std::vector<standing_decision> decisions;   ///< in order of id
  std::vector<node_reservation> reservations; ///< in order of uid
  /// A change of replica counts is under way: until its end, nothing more is decided of them.
  bool counting = false;

  bool operator==(const group_status&) const = default;
};

} // namespace reprieve
