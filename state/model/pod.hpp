#pragma once

#include "state/model/portion.hpp"
#include "state/model/workload.hpp"
#include "state/quantities/resources.hpp"
#include "state/quantities/time.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace reprieve {

/// A pod's life. Room is taken from `nominated` on (then as a hold) until `gone`.
enum class pod_phase {
  pending,
  nominated,
  bound,
  running,
  surplus,
  terminating,
  force_deleting,
  gone
};

/// One pod, with all that a decision about it needs: the node record holds these, so that a node
/// shard can judge its pods alone (docs/architecture.md#state-in-the-store).
struct pod {
  std::string uid;
  std::string name;
  std::string workload;
  std::string group;
  std::int32_t replica = 0;
  std::int32_t index = 0;
  std::uint32_t incarnation = 0; ///< counts the pods that stood at this place before
  std::string node;
  pod_phase phase = pod_phase::pending;
  resources requests;
  string_map labels;
  string_map annotations;
  disruption_mode disruption = disruption_mode::pod;
  std::int32_t priority = 0;                ///< as a victim: the preemption priority
  std::optional<std::int32_t> own_priority; ///< what the pod itself says, where it says anything
  bool daemon = false;                      ///< belongs to its node
  bool opted_out = false;                   ///< asks not to be preempted
  bool protected_member = false;            ///< goes only from borrowed room
  std::string owner;                        ///< uid of the pod it refers to as its owner
  time_point created = no_time;
  time_point started = no_time;
  time_point checkpointed = no_time; ///< what was done before this is not lost
  time_point stop_told = no_time;    ///< when the order to stop was made durable
  duration grace_period{std::chrono::seconds{30}};
  duration minimum_runtime{0}; ///< before which it is no victim
  duration checkpoint_time{0}; ///< given before the grace period begins
  std::string placed_by;       ///< the decision that nominated it
  std::string evicted_by;      ///< the decision that takes it away

  bool operator==(const pod&) const = default;
};

/// Stands in `evicted_by` of a pod that goes without a decision, as its workload asks for fewer.
inline constexpr std::string_view not_wanted = "not-wanted";

/// Stands in `placed_by` of a pod that its cluster's own scheduler placed
/// (docs/policies.md#lifecycle).
inline constexpr std::string_view placed_by_cluster = "cluster";

/// The portion a pod goes with when it is evicted.
portion_id portion_of(const pod& p);

/// True while the pod's room on its node is not free for others.
constexpr bool takes_room(pod_phase phase) {
  return phase != pod_phase::pending && phase != pod_phase::gone;
}

/// True once the pod can't come back from leaving.
constexpr bool is_leaving(pod_phase phase) {
  return phase == pod_phase::terminating || phase == pod_phase::force_deleting
         || phase == pod_phase::gone;
}

} // namespace reprieve
