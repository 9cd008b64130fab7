#pragma once

#include "actors/coordinator/guard_times.hpp"
#include "actors/coordinator/stopping_pods.hpp"
#include "actors/interfaces/node_evaluation.hpp"
#include "preemption/cycle/holds.hpp"
#include "preemption/evaluation/evaluation_hints.hpp"
#include "preemption/policies/lifecycle/lifecycle.hpp"
#include "preemption/policies/queues/demand_by_queue.hpp"
#include "preemption/policies/queues/queue_stage.hpp"
#include "preemption/problem/plan.hpp"
#include "preemption/problem/preemptor.hpp"
#include "preemption/waiting/pending.hpp"
#include "preemption/waiting/waiting_line.hpp"
#include "preemption/waiting/workload_standing.hpp"
#include "state/containers/name_map.hpp"
#include "state/model/catalog.hpp"
#include "state/model/decision.hpp"
#include "state/model/placement.hpp"
#include "state/model/queue_limits.hpp"
#include "state/records/cluster_snapshot.hpp"
#include "state/records/node_record.hpp"
#include "state/records/set_aside.hpp"
#include "state/records/workload_record.hpp"
#include "state/view/cluster_view.hpp"

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace reprieve {

/// What a coordinator knows of its resource group: the durable records of all its shards, and over
/// them what its own open decisions will do, so that these never conflict
/// (docs/protocol.md#several-decisions-at-once).
class group_mirror : private standing_ground {
public:
  // -- what the shards say ------------------------------------------------------------------------

  void put(std::shared_ptr<const node_record> record);
  void remove_node(const std::string& name);
  void put(std::shared_ptr<const workload_record> record);
  void remove_workload(const std::string& name);
  void put(const disruption_budget& budget);
  void remove_budget(const std::string& name);

  /// All of a shard whose records can't be read. Pods of such workloads are nobody's victims. Where
  /// pods may run that nobody can read, those who came before get no more: theirs may be among
  /// them.
  void know_aside(const std::string& shard, objects_aside aside);
  /// It can be read by now, or is gone.
  void know_readable(const std::string& shard, object_kind kind, const std::string& name);
  /// Why nobody comes for the workload, where that is so as his pods may be there and can't be
  /// seen.
  std::string why_hidden(std::string_view workload) const;

  // -- replicas that the cluster counts (docs/policies.md#lifecycle) -----------------------------

  /// Whether the cluster's own scheduler places the replicas of deployments: they are not placed
  /// pod by pod then, and no pod of theirs is unwanted here.
  void leave_replicas_to_cluster(bool so);
  void put(const placement& share);
  void remove_placement(const std::string& name);
  const by_name<placement>& placements() const {
    return placements_;
  }
  /// The deployments whose replicas the cluster counts, those that are being deleted too.
  std::vector<std::shared_ptr<const workload_record>> counted_deployments() const;
  /// What the phase has to know of each pod.
  std::vector<lifecycle_pod> lifecycle_pods();
  /// By deployment, the uids of replicas that have not been told to go and whose room others wait
  /// for, or that a decision takes away.
  std::map<std::string, std::vector<std::string>, std::less<>> expected_to_go();
  /// Whether the cluster counts the pod as a replica.
  bool is_replica(const victim_pod& p) const;

  // -- what own decisions will do -----------------------------------------------------------------

  /// What has to be known of an open decision; pods are those that the shards get.
  struct promised_decision {
    std::string id;
    std::vector<std::string> workloads;
    pod_pointers placed;
    std::vector<victim> victims;
  };

  /// Counts a placement in from now on, for a decision that is still being put together.
  void promise(const std::string& id, const pod_list::pointer& placed);
  /// The decision is under way with all that it does; `parts` is what it does by node.
  void open(promised_decision d, std::span<const node_part> parts);
  /// The decision is to be given up: from now on the group looks as if it had been, with the
  /// victims that were not told staying and those whom it places waiting again.
  void give_up(const std::string& id);
  /// The decision is given up: who goes by it is what the shards' records say.
  void spare_victims(const std::string& id);
  /// Its pods start, whatever happens.
  void starts(const std::string& id);
  /// The shards' records tell its effect from now on, or it has none.
  void close(const std::string& id);

  /// The open decisions that have to be carried out as far as that their victims are told before a
  /// decision that does `parts` can have its room: until then theirs may be given up, and their
  /// victims stay. And those that are to be given up, where they still hold its nodes or workloads.
  std::set<std::string> counts_on(const std::string& id, std::span<const node_part> parts) const;

  // -- what a cycle asks --------------------------------------------------------------------------

  /// The group as the engine reads it, settled, with all open decisions in it.
  const cluster_view& view();
  /// Likewise, with bounds on blocks of nodes that are not as close (`settle_nodes`).
  const cluster_view& view_of_nodes();

  /// Does not settle the view, which a cycle without anything to plan need not do.
  std::size_t node_count() const {
    return nodes_.size();
  }

  /// The same views, for whoever takes something out of them and puts it back.
  cluster_view& changeable_view() {
    view();
    return view_;
  }
  cluster_view& changeable_view_of_nodes() {
    view_of_nodes();
    return view_;
  }

  /// The open decisions that hold room for pods of lower priority and are not starting yet.
  std::vector<held_decision> holds_below(std::int32_t priority);

  /// What the open decision holds, where it can still be given up.
  std::optional<held_decision> hold_of(const std::string& id);

  /// Keeps the room of a pod that waits for its required node from those who are served after it,
  /// until `forget_reservations`.
  void reserve(const pod& waiting);
  void forget_reservations();

  /// All that lack pods and are not part of an open decision.
  waiting_line& line();

  /// Another number when nodes have come, gone or changed in what is planned by.
  std::uint64_t nodes_seen() {
    refresh();
    return nodes_seen_;
  }
  /// The nodes on which somebody left or leaves, or that changed, since this was last asked.
  std::vector<node_row> take_freed_nodes();
  /// Likewise, on which somebody is not being placed any more.
  std::vector<node_row> take_nodes_with_arrivals();
  /// The queues whose pods use less since this was last asked, or of whose pods some may go at
  /// last.
  std::set<std::string, std::less<>> take_lighter_queues();
  /// Those in which somebody is not being placed any more, with the lowest priority among them.
  by_name<std::int32_t> take_arrivals();

  /// The workloads of the queue whose pods leave and come back.
  std::vector<returning_work> leaving_in(std::string_view queue, time_point now);
  /// Whether one of them comes before that place.
  bool is_any_leaving_before(std::string_view queue, const service_place& place);

  /// The guards by which time alone lets somebody go (docs/policies.md#guards).
  void guard(const guards& limits);
  /// Whom they let go by now may help somebody: their nodes are among those that were freed.
  void release(time_point now);
  /// When they let go of somebody next; `no_time` where they do not.
  time_point next_release() const {
    return guards_.next();
  }

  /// Whether the unit lacks its pods even now: a decision made since may have taken those that it
  /// was to join.
  bool still_lacks(const preemptor& who);

  /// The workload asks for nothing, or does so again: what would be decided for it can't be
  /// written.
  void put_aside(const std::string& workload, bool so);

  /// Why the nodes' records do not take what the unit's pods bring, in a sentence, however they
  /// were spread; empty where they may. Pods that bring little are not looked at: those who vote do
  /// that.
  std::string why_not_in_records(const preemptor& who, const plan& made);

  /// The unit that the decision places, as it would wait if that were given up. Nothing where it
  /// places more, or a run's.
  std::optional<waiting_unit> unit_placed_by(const std::string& decision);

  /// Pods that no workload asks for any more and that were not told to go; those alone that came
  /// to it or changed since this was asked last, so that nobody is told of them again and again.
  /// Whoever takes them has them told: the view shows all of them as leaving from now on, though
  /// their shards say so one by one.
  std::vector<victim_pod> take_unwanted();

  /// Workloads that are being deleted and have no pod left; those alone that have changed since.
  std::vector<std::string> take_ended_workloads();

  /// What was done about them may have been lost: all of them count as changed.
  void look_at_leftovers_again();

  /// What the pods of this group take by queue, nominated ones among those that stay.
  const by_name<queue_totals>& usage();

  /// Of what leaves, what workloads wait for again already, by queue.
  const by_name<resources>& waiting_again();
  /// What workloads will ask for beside those who wait, when some of their pods have settled.
  const by_name<resources>& held_back();

  /// What all nodes have together.
  const resources& capacity();

  /// The pods of workloads in these queues that take room.
  std::vector<queue_pod> pods_in(const std::vector<std::string>& queues);

  /// How many preemptions workloads had in the last hour, where there were any.
  by_name<std::int32_t> recent_preemptions(time_point now) const;

  std::shared_ptr<const workload_record> find_workload(std::string_view name) const;

  /// Finds the pods that were told to stop and are there past all their limits: from now on nobody
  /// counts on their room. Returns when there may be more of them.
  time_point look_for_stuck(time_point now, duration force_delete_after);

  /// An open decision that should be given up, and why: a pod it places is not wanted any more, its
  /// node takes none, or a victim does not go.
  struct groundless_decision {
    std::string id;
    std::string reason;
  };
  /// Those that lost their ground since this was last asked.
  std::vector<groundless_decision> groundless();

  // -- what node shards are asked -----------------------------------------------------------------

  /// What the node shards, so many, can't know by themselves and were not told yet, by number.
  std::map<std::uint32_t, portion_facts> news_for_shards(std::uint32_t shards);
  /// A shard knows nothing any more: it, and all others, are told everything again.
  void tell_shards_all();
  /// The nodes on which the view shows what their shards do not know: what open decisions will do,
  /// who does not go, and who goes as nobody wants him.
  std::vector<node_row> ahead_of_shards();

  // -- what a snapshot takes ----------------------------------------------------------------------

  /// The records, with pods as the view has them, and the open decisions as far as they are known
  /// here.
  group_snapshot read_all();

private:
  template <class Entry>
  using named = std::pair<const std::string, Entry>; ///< never moves while it is there

  /// A victim as the record has it, and as it is with the decision.
  struct marked_pod {
    pod_list::pointer recorded;
    pod_list::pointer marked;
  };

  /// What an open decision will do on a node.
  struct promised_part {
    node_part part;
    std::vector<marked_pod> marked;
    bool given_up = false; ///< it will not be done
  };

  /// One node: what its shard says, what open decisions will do there, and what of both is in the
  /// view.
  struct node_entry {
    std::shared_ptr<const node_record> record;     ///< null where there is none
    std::map<std::string, promised_part> promised; ///< by open decision
    std::shared_ptr<const node_record> in_view;    ///< whose spec the view has
    pod_list taken_in; ///< pods as they came from the record and the decisions
    pod_list shown;    ///< the same pods with what their workloads say, as the view has them
    bool stale = false;
    bool costs_changed = false; ///< of a workload with pods here
  };

  using named_node = named<node_entry>;

  /// What of one workload counts in sums over many; counted anew when it changes.
  struct counted_standing {
    std::shared_ptr<const workload_record> record;
    bool waits = false; ///< the line has something of it
    bool unwanted = false;
    bool ended = false;
    queue_totals used;
    rarely_set<resources> held_back; ///< what will be asked for when others have settled
    rarely_set<resources> again;     ///< of what leaves, what is waited for again already
    /// Pods of that group of a unit wait: budgets expect them, and miss them.
    struct expected_pods {
      std::shared_ptr<const preemptor> who;
      std::size_t group = 0;
      std::int64_t pods = 0;

      bool operator==(const expected_pods&) const = default;
    };
    std::vector<expected_pods> expected;
  };

  struct workload_entry {
    workload_standing stands;
    std::set<std::string> placed_by; ///< open decisions
    counted_standing counted;
    bool stale = false;
    bool aside = false;
  };

  using named_workload = named<workload_entry>;

  struct kept_decision : promised_decision {
    std::vector<named_workload*> owners; ///< of the pods placed, in their order
    bool given_up = false;
  };

  named_node& node_named(std::string_view name);
  named_workload& workload_named(std::string_view name);
  void mark(named_node& one);
  void mark(named_workload& one);
  void refresh();
  void refresh_node(named_node& one);
  static void apply(pod_list& pods, promised_part& promised, const std::string& decision);
  static void undo(pod_list& pods, const std::string& decision);
  void set_given_up(kept_decision& d, bool so);
  bool stands_alike(const pod& before, const pod& now) const;
  void refresh_workload(named_workload& one);
  pod_list::pointer with_costs(const pod_list::pointer& p);
  void show(named_node& on, const pod_list::pointer& before, const pod_list::pointer& now);
  void take_out(named_node& from, const pod& p);
  std::vector<waiting_unit> line_up(const workload_entry& entry);
  void count_what_returns(const workload_entry& entry, counted_standing& now);
  void count_in_queue(named_workload& one);
  void note_for_shards(const pod& p);
  void compare_with_shard(named_node& one);
  counted_standing count_out(named_workload& one); ///< as it was counted
  bool places_any_of(const std::string& decision, const pod_list& pods) const;
  std::vector<node_row> rows_of(const std::set<named_node*>& nodes);
  held_decision hold_of(const promised_decision& d) const;
  std::vector<standing_decision> standing_decisions() const;
  bool is_left_to_cluster(const workload_record* record) const;
  void put_record(named_workload& one, std::shared_ptr<const workload_record> record);
  void judge_those_who_place(const workload_entry& of, const workload_record* next);
  void mark_nodes_of(const workload_entry& of);
  void show_anew(std::string_view node);
  void look_at(const portion_id& portion);
  void expect_in_budgets(const counted_standing& before, const counted_standing& now);
  std::string why_groundless(const kept_decision& d) const;

  bool goes(std::string_view uid) const override {
    return going_.contains(uid);
  }
  void each_going(const std::string& workload,
                  const std::function<void(const portion_id&)>& use) const override;
  const node* node_of(const pod& p) const override;
  bool counts_leaving() const override;
  bool is_aside(std::string_view workload) const;
  bool is_being_told(const pod& p) const;
  void look_at_aside(const objects_aside& changed);
  bool may_run_unseen(const workload_record& record) const;

  name_map<node_entry> nodes_;
  name_map<workload_entry> workloads_;
  std::map<std::string, kept_decision, std::less<>> open_;
  std::set<std::string> unjudged_; ///< open decisions whose ground may have changed

  std::set<std::string> given_up_; ///< open decisions that are to be given up
  std::set<std::string> starting_; ///< open decisions that can't be given up any more
  /// Victims of open decisions, by uid. One may have gone before its workload knows that it goes;
  /// until that is known, nobody comes in its stead.
  by_name<portion_id> going_;
  std::vector<std::string> reserved_; ///< uids of pods that are in the view for their reservation

  cluster_view view_;
  std::vector<named_node*> stale_nodes_; ///< changed since they were last in the view
  std::vector<named_workload*> stale_workloads_;

  std::uint64_t nodes_seen_ = 1;

  waiting_line line_;
  std::set<named_node*> freed_; ///< that could help one who waits
  std::set<named_node*> with_arrivals_;
  std::set<std::string, std::less<>> lighter_; ///< queues
  by_name<std::int32_t> arrivals_;             ///< by queue, the lowest priority
  /// The workloads that have a record, by queue.
  std::map<std::string, std::set<named_workload*>, std::less<>> by_queue_;
  by_name<std::map<service_place, named_workload*>> with_leaving_; ///< likewise
  std::set<named_workload*> preempted_; ///< those that were preempted, of late or before
  guard_times guards_;
  /// Workloads that have something unwanted, or have ended; and those of them that were not taken.
  struct leftovers {
    std::set<std::string, std::less<>> all;
    std::set<std::string, std::less<>> fresh;

    void put(const std::string& name, bool is_fresh);
    void erase(const std::string& name);
  };
  leftovers with_unwanted_;
  leftovers ended_;
  /// Unwanted pods that were taken to be told, by uid, and their nodes: until the record says it.
  name_map<std::string> being_told_;
  stopping_pods stopping_;
  std::map<std::string, objects_aside> aside_; ///< by shard, where there are any
  by_name<queue_totals> usage_;
  by_name<resources> again_; ///< by queue
  demand_by_queue held_back_;
  resources capacity_;
  bool cluster_counts_ = false; ///< replicas of deployments
  by_name<placement> placements_;

  std::set<named_node*> ahead_; ///< of their shards
  std::set<portion_id> moved_;  ///< whole replicas that changed since shards were told
  /// Nodes with pods whose cost is not what their record says: to be told, and told last.
  std::set<std::string, std::less<>> dear_;
  std::set<std::string, std::less<>> told_costs_;
  /// The shards that were told what a whole replica has on others.
  std::map<portion_id, std::set<std::uint32_t>> told_parts_;
};

} // namespace reprieve
