#pragma once

#include "preemption/preemptor.hpp"
#include "preemption/queue_stage.hpp"
#include "state/catalog.hpp"
#include "state/cluster_view.hpp"
#include "state/decision.hpp"
#include "state/node_record.hpp"
#include "state/queue_limits.hpp"
#include "state/workload_record.hpp"

#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace reprieve {

/// What a coordinator knows of its resource group: the durable records of all its shards, and over
/// them what its own open decisions will do, so that these never conflict (DESIGN 4, progress).
class group_mirror {
public:
  // -- what the shards say ------------------------------------------------------------------------

  void put(std::shared_ptr<const node_record> record);
  void remove_node(const std::string& name);
  void put(std::shared_ptr<const workload_record> record);
  void remove_workload(const std::string& name);
  void put(const disruption_budget& budget);
  void remove_budget(const std::string& name);

  // -- what own decisions will do -----------------------------------------------------------------

  /// Counts these placements in from now on, for a decision that is still being put together.
  void promise(const std::string& id, std::span<const assignment> placements);
  /// The decision is under way with all that it does.
  void open(std::shared_ptr<const decision> d);
  /// The shards' records tell its effect from now on, or it has none.
  void close(const std::string& id);
  const std::map<std::string, std::shared_ptr<const decision>, std::less<>>&
  open_decisions() const {
    return open_;
  }

  // -- what a cycle asks --------------------------------------------------------------------------

  /// The group as the engine reads it, settled, with all open decisions in it.
  const cluster_view& view();

  /// A unit of a workload that lacks pods.
  struct pending_unit {
    std::shared_ptr<const workload_record> record;
    preemptor who;
  };
  /// All that lack pods and are not part of an open decision, in the order in which they are
  /// served.
  std::vector<pending_unit> pending();

  /// Whether the unit lacks its pods even now: a decision made since may have taken those that it
  /// was to join.
  bool still_lacks(const preemptor& who);

  /// Pods that no workload asks for any more and that were not told to go.
  std::vector<victim_pod> unwanted();

  /// Workloads that are being deleted and have no pod left.
  std::vector<std::string> ended_workloads();

  /// What the pods of this group take by queue, nominated ones among those that stay.
  const by_name<queue_totals>& usage();

  /// What all nodes have together.
  const resources& capacity();

  /// The pods of workloads in these queues that take room.
  std::vector<queue_pod> pods_in(const std::vector<std::string>& queues);

  /// Whether the portion is still these pods, and none of them comes or leaves.
  bool stays(const victim& one);

  /// What these pods take that stay so far, by queue.
  usage_by_queue usage_of(const std::vector<victim>& victims);

  std::shared_ptr<const workload_record> find_workload(std::string_view name) const;

  /// Finds the pods that were told to stop and are there past all their limits: from now on nobody
  /// counts on their room. Returns when there may be more of them.
  time_point look_for_stuck(time_point now, duration force_delete_after);

  /// Why an open decision should be given up: a pod it places is not wanted any more, its node
  /// takes none, or a victim does not go. Empty where nothing speaks against it.
  std::string why_groundless(const decision& d) const;

private:
  /// What one workload's record and pods come to; found anew when either changes.
  struct standing {
    std::vector<preemptor> lacking;
    std::vector<victim_pod> unwanted;
    bool ended = false;
    std::string queue;
    queue_totals used;
  };

  void refresh();
  void refresh_node(const std::string& name);
  void refresh_workload(const std::string& name);

  std::map<std::string, std::shared_ptr<const node_record>, std::less<>> nodes_;
  std::map<std::string, std::shared_ptr<const workload_record>, std::less<>> workloads_;
  std::map<std::string, std::shared_ptr<const decision>, std::less<>> open_;
  /// What open decisions do, by node, then by decision.
  std::map<std::string, std::map<std::string, node_part>, std::less<>> promised_;

  cluster_view view_;
  std::set<std::string, std::less<>> stale_nodes_; ///< changed since they were last in the view
  std::map<std::string, node_record, std::less<>> shown_; ///< as they are in the view

  std::set<std::string, std::less<>> stale_workloads_;
  /// Pods that were told to stop: where, and when their grace period is over.
  std::map<std::string, std::pair<std::string, time_point>, std::less<>> told_;
  std::set<std::string, std::less<>> stuck_; ///< uids of those that will not go
  std::map<std::string, std::map<std::string, std::string>, std::less<>>
    pods_;                                                ///< nodes by uid, by workload
  std::map<std::string, standing, std::less<>> standing_; ///< by workload; only what matters
  by_name<queue_totals> usage_;
  resources capacity_;
};

} // namespace reprieve
