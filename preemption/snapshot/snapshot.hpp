#pragma once

#include "preemption/cycle/holds.hpp"
#include "preemption/problem/plan.hpp"
#include "preemption/problem/preemptor.hpp"
#include "state/model/catalog.hpp"
#include "state/model/object.hpp"
#include "state/model/pod_manifest_fields.hpp"
#include "state/records/workload_record.hpp"

#include <absl/status/statusor.h>

#include <cstddef>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace reprieve {

/// A cluster as manifests give it, with pods and where they run: what the engine decides on when
/// there is no server. Manifests that a server wrote (`reprieve admin snapshot`) give what its
/// coordinators decide on.
class snapshot {
public:
  /// An object and what has come of it, where that is known.
  struct entry {
    object what;
    object_status status;
    pod_manifest_fields given{}; ///< of a pod, what its manifest gave
  };

  /// Checks the objects as admission does, and that each pod can stand where it does. A pod of a
  /// workload that is among them takes from it what it does not say itself; others stand for
  /// themselves.
  static absl::StatusOr<snapshot> of(std::vector<entry> entries);
  static absl::StatusOr<snapshot> of(std::vector<object> objects);

  const catalog& known() const {
    return known_;
  }
  const by_name<workload_record>& workloads() const {
    return workloads_;
  }
  const std::vector<pod>& pods() const {
    return pods_;
  }
  /// How the queues stood when the stage ran last, where the snapshot says so.
  const by_name<queue_status>& queues() const {
    return queues_;
  }
  const std::vector<placement>& placements() const {
    return placements_;
  }

  /// What the snapshot says of a resource group's own state.
  const group_status& status_of(std::string_view group) const;
  /// Whether a server wrote the group's state, so that what it does not have is not there.
  bool is_of_server(std::string_view group) const {
    return status_of(group).queues.has_value();
  }
  /// How the queues stood in the group when its last cycle ran: those of the group, where the
  /// snapshot has them.
  const by_name<queue_status>& queues_in(std::string_view group) const;
  /// The decisions of the group that hold room and may be given up, by id: of those that its status
  /// lists, where the snapshot has that.
  std::vector<held_decision> holds(std::string_view group) const;
  /// What is reserved for the pod of that uid, or null.
  const node_reservation* reservation_for(std::string_view group, std::string_view uid) const;
  /// By queue, what pods of the group may use; null where the snapshot does not say.
  const by_name<resources>* grants(std::string_view group) const;

  /// The groups that have nodes or work, in order of name.
  std::vector<std::string> groups() const;
  resource_group settings_of(std::string_view group) const;
  /// By workload, how many decisions preempted it in the last hour, where there were any.
  by_name<std::int32_t> recent_preemptions(time_point now) const;
  resources capacity_of(std::string_view group) const;
  cluster_view view_of(std::string_view group) const;
  /// All groups together.
  cluster_view whole_view() const;

  /// Whether the cluster places the workload's pods, of which there are as many as it is told.
  bool is_left_to_cluster(std::string_view workload) const;
  /// What waits for a place in the group, in the order it is served: higher priority, earlier
  /// submission, name.
  std::vector<preemptor> pending(std::string_view group) const;
  /// Likewise of one workload, or of the workload of a pod, whatever its group; that group.
  absl::StatusOr<std::string> group_of(std::string_view workload_or_pod) const;
  std::vector<preemptor> pending_of(std::string_view workload_or_pod) const;
  /// Likewise of one that has these pods, with what more it will ask for when some of them have
  /// settled.
  std::vector<preemptor> lacking_with(const workload_record& record,
                                      std::span<const pod* const> its_pods,
                                      resources* held_back = nullptr) const;

private:
  /// Pods may give their owners by name, too.
  void name_owners_by_uid();
  absl::Status add(pod p, const pod_manifest_fields& given);
  absl::Status take(const std::string& name, const object_status& status);
  absl::Status take_course(workload_record& into, const workload_course& given);
  std::vector<pod> pods_in(std::string_view group) const;
  cluster_view view_where(const std::function<bool(const std::string&)>& takes) const;
  std::string workload_named(std::string_view workload_or_pod) const;
  std::vector<preemptor> units_of(const workload_record& record) const;
  std::vector<preemptor> units_of_pods(std::string_view workload) const;

  catalog known_ = initial_catalog();
  by_name<node> nodes_;
  by_name<workload_record> workloads_;
  std::vector<pod> pods_;
  by_name<std::vector<std::size_t>> pods_of_; ///< by workload, their positions
  std::vector<disruption_budget> budgets_;
  std::vector<placement> placements_;
  by_name<queue_status> queues_;
  by_name<group_status> groups_;
  std::set<std::string, std::less<>> going_; ///< uids of victims of open decisions
};

/// Puts what the plan would do into the view: its placements are held, its victims leave.
void carry_out(const plan& made, std::string_view id, const std::vector<pod>& pods,
               cluster_view& view);

} // namespace reprieve
