#pragma once

#include "preemption/policies/lifecycle/lifecycle.hpp"
#include "preemption/policies/queues/queue_stage.hpp"
#include "state/model/catalog.hpp"
#include "state/model/decision.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// One cycle in a resource group whose cluster has a scheduler of its own
/// (docs/policies.md#lifecycle): normal allocation gives free room to deployments by committing
/// replicas, and where it has nothing more to give, the lifecycle phase makes room.
namespace reprieve {

// -- what goes in --------------------------------------------------------------------------------

struct counted_deployment {
  lifecycle_deployment who; ///< but for `lacking` and `scores`, which the cycle finds
  std::string queue;
  std::int32_t wanted = 0; ///< replicas
};

struct lifecycle_cycle_input {
  resource_group cluster;                      ///< that stands for the cluster, with its settings
  std::vector<counted_deployment> deployments; ///< no name twice
  std::vector<placement> placements;           ///< of this cluster, with what they remember
  std::vector<lifecycle_pod> pods;
  /// How many preemptions each workload had in the last hour, where there were any.
  std::map<std::string, std::int32_t, std::less<>> recent_preemptions;
  /// The queues with the group's part of their limits, what pods use in them, and what those ask
  /// for that are placed pod by pod. Without it queues limit nobody.
  std::optional<queue_stage_input> queues;
  time_point now = no_time;
  bool explain = true;
};

// -- what comes out ------------------------------------------------------------------------------

/// What one decision does. No two steps of a cycle touch the same placement, so that they are
/// carried out independently of each other.
struct lifecycle_step {
  std::vector<std::string> deployments; ///< whom it is for; one, where there are victims
  std::int32_t priority = 0;            ///< the highest of theirs
  std::vector<count_change> counts;
  std::vector<victim> victims; ///< who is expected to go, or is force-deleted
  std::vector<victim_pod> force_deletes;
  reasoning why;
  score scored;

  bool operator==(const lifecycle_step&) const = default;
};

/// By queue, what deployments ask for beyond what their pods use. With that all of them together
/// ask for as many replicas as are wanted, however many of them come or go just now.
struct replica_needs {
  by_name<resources> pending; ///< not committed, as far as a node could ever take them
  by_name<resources> coming;  ///< committed, and without a pod yet
  by_name<resources> again;   ///< of what leaves: not to be counted, as others come instead of it

  bool operator==(const replica_needs&) const = default;
};

/// Adds what replicas ask for to what queues share, but for what their pods use.
void add_demand(queue_stage_input& to, const replica_needs& of);

struct lifecycle_outcome {
  std::vector<lifecycle_step> steps;
  /// Placements that no step touches and that are to remember something else, or have other pods,
  /// from now on.
  std::vector<placement> remembered;
  std::map<std::string, std::string, std::less<>> waiting; ///< deployments, and why
  replica_needs needs;
  time_point look_again = no_time;

  bool operator==(const lifecycle_outcome&) const = default;
};

/// Runs the cycle. Pure, as the phase is. Room is made only when there is nothing to allocate: what
/// was committed has to reach the cluster first, as its pods change what there is to plan on.
lifecycle_outcome run_lifecycle_cycle(const cluster_view& view, const lifecycle_cycle_input& given);

/// Whether a workload's replicas are counted where its resource group has the lifecycle policy:
/// deployments of one template. All others are placed pod by pod there too.
bool is_counted(const workload& w);

/// How many replicas it asks for.
std::int32_t replicas_wanted(const workload& w);

} // namespace reprieve
