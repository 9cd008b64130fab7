#pragma once

#include "state/model/catalog.hpp"
#include "state/model/decision.hpp"
#include "state/model/pod.hpp"
#include "state/model/resource_group.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace reprieve {

/// A pod as the queue stage sees it.
struct queue_pod {
  std::string queue;
  std::string resource_group; ///< whose guards hold for it
  std::string uid;
  std::string node;
  portion_id portion;
  resources requests;
  std::int32_t priority = 0; ///< as a victim: the preemption priority
  pod_phase phase = pod_phase::running;
  time_point started = no_time;
  duration minimum_runtime{0}; ///< that its workload asks for
  bool chosen = false;         ///< by an earlier decision: it leaves, whatever its phase says
  bool daemon = false;
  bool opted_out = false;
  bool protected_member = false;
  bool closed = false; ///< its node takes no pods, so that nobody could come in its stead
  /// It was told to go and is there past all its limits: nobody counts on its room, and nobody else
  /// goes for it either.
  bool overdue = false;

  bool leaving() const {
    return chosen || is_leaving(phase);
  }
  bool operator==(const queue_pod&) const = default;
};

/// What the pod takes of a resource: what it asks for, and of `pods` one besides.
std::int64_t taken_of(const queue_pod& p, std::string_view resource);

queue_pod queue_pod_of(const pod& p, std::string queue, std::string resource_group);

/// Those pods of one portion that stay unless they are chosen.
struct queue_portion {
  portion_id id;
  std::string resource_group;
  std::int32_t priority = 0;       ///< the highest of its pods'
  time_point started = no_time;    ///< the first of its pods to start
  duration minimum_runtime{0};     ///< that its workload asks for
  std::vector<std::int64_t> holds; ///< of each resource
  std::vector<victim_pod> pods;    ///< wherever they run, in order of node and uid
  bool daemon = false;             ///< one of its pods is; so for the others
  bool opted_out = false;
  bool protected_member = false;
  bool being_placed = false;
  bool shielded = false; ///< as in `is_shielded`, where somebody has looked
};

/// The portions of one queue's pods, in the order in which they go: lower priority first, then not
/// yet started before running, then the shorter running, then by id (docs/policies.md#queues). Of
/// the pods those count that take room and do not leave.
std::vector<queue_portion> portions_in_order(std::span<const queue_pod* const> pods,
                                             std::span<const std::string> resources);

/// Whether it may not go by what its workload or the resource group asks for: a minimum runtime, an
/// opt-out or a protected member. On room that a queue only borrows none of these holds against
/// those who deserve it.
bool is_shielded(const queue_portion& one, const guards& limits, time_point now);

/// How many portions of each resource group were chosen and have not gone, by whatever decision:
/// as long as they are on their way, they count among the victims that a decision may have.
by_name<std::int32_t> count_on_their_way(std::span<const queue_pod* const> pods);

/// Who asks for what others of its queue use, and is more important than they.
struct quota_preemptor {
  std::string_view workload;
  std::int32_t priority = 0;
  std::span<const std::int64_t> asked; ///< of each resource
  bool within_limit = false;           ///< of the queue, and not within what it deserves
  /// They are no more important than it, and use more than their queues deserve while it is within
  /// what its own does: none of them is shielded.
  bool takes_back = false;
};

/// What is to be freed in one queue.
struct queue_reclaim {
  std::string_view queue;
  std::span<const std::string> resources;
  std::span<const std::int64_t> staying; ///< what pods that do not leave use of each resource
  std::span<const std::int64_t> allowed; ///< and what they may
  const by_name<guards>& limits;         ///< by resource group; one that is absent has none
  const by_name<std::int32_t>& recent_preemptions; ///< by workload, times in the last hour
  /// Portions that were chosen before and are still on their way, by resource group.
  const by_name<std::int32_t>& on_their_way;
  time_point now = no_time;
  const quota_preemptor* made_for = nullptr; ///< what is allowed is without what it asks for
};

/// Who goes, and why others do not.
struct queue_choice {
  std::vector<victim> victims;      ///< in the order in which they go
  std::vector<spared> reprieved;    ///< not needed, once all others were chosen
  std::vector<spared> passed_over;  ///< before the last victim, or all where not enough may go
  std::vector<std::int64_t> freed;  ///< of each resource
  std::vector<std::int64_t> lacked; ///< of each resource, what nobody may free
};

/// Chooses in order, until the pods that stay use no more than they may. A portion that holds
/// nothing of what is used too much is passed over, as is one that may not go
/// (docs/policies.md#guards), or who is one more of its resource group than a decision may have:
/// its turn comes in a later run. In the end those who are not needed after all are put back, most
/// important first. Costs the number of portions times that of resources.
queue_choice choose_victims(const queue_reclaim& what, std::span<const queue_portion> in_order);

} // namespace reprieve
