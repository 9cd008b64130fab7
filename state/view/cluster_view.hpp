#pragma once

#include "state/containers/name_pool.hpp"
#include "state/containers/row_index.hpp"
#include "state/containers/row_table.hpp"
#include "state/containers/text_store.hpp"
#include "state/containers/value_pool.hpp"
#include "state/model/node.hpp"
#include "state/model/pod.hpp"
#include "state/model/portion.hpp"
#include "state/view/budget_table.hpp"
#include "state/view/node_blocks.hpp"
#include "state/view/portion_card.hpp"
#include "state/view/shape_table.hpp"
#include "state/view/view_rows.hpp"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace reprieve {

/// What a node has of `pods` that does not name them and so is not limited in their number: more
/// than there ever are, and little enough for sums over all nodes.
inline constexpr std::int64_t unlimited_pods = std::int64_t{1} << 40U;

/// The cluster as the engine reads it: columns instead of objects, names interned, pods of a node
/// in importance order with running sums by priority. Built once, then changed in place.
///
/// Every pod takes one of the resource `pods`, besides what it asks for, so that a column of it is
/// always there.
///
/// Changes leave orders and sums stale until `settle`; reading then is undefined. A settled view
/// may be read from several threads.
class cluster_view {
public:
  cluster_view();

  // -- changes ------------------------------------------------------------------------------------

  /// Adds the node, or changes all but its pods.
  node_row put_node(const node& n);
  /// Takes the node away with all its pods.
  void remove_node(std::string_view name);
  /// Adds the pod to its node, or changes it. A pod that takes no room, or whose node is not there,
  /// is taken away: `no_row`.
  /// `before` is how it was put last, where that is known: one that has only come further since
  /// costs little.
  pod_row put_pod(const pod& p, const pod* before = nullptr);
  void remove_pod(std::string_view uid);
  void put_budget(const disruption_budget& budget);
  void remove_budget(std::string_view name);
  /// For a view of some of the cluster's nodes: what a whole replica has on other nodes, in place
  /// of what was said of it before; no pods where it has none. It counts on the portion's card and
  /// in its work, so that these are the same in every part of a cluster. `pods_of` has the pods in
  /// this view only.
  void put_elsewhere(const portion_id& id, const portion_part& part);
  /// So many more pods with these labels are wanted and have no node; below zero, so many fewer.
  /// Budgets count them as expected and not running.
  void expect(const string_map& labels, std::int64_t pods);
  /// Brings orders and sums of all that changed up to date; costs what changed. A change of
  /// budgets costs a look at every distinct set of labels.
  void settle();
  /// Likewise, but for the bounds on blocks of nodes: they hold, and are not as close. For whoever
  /// knows where to look.
  void settle_nodes();
  /// How often nodes were brought up to date, all in all.
  std::uint64_t settled() const {
    return settled_before_ + settled_.size();
  }
  /// The nodes that were since it was so often: on all others every pod, and every portion with a
  /// pod there, is what it was. A node may be mentioned twice, and be gone. Nothing where that is
  /// longer ago than is remembered.
  std::optional<std::span<const node_row>> settled_since(std::uint64_t count) const;

  // -- resources ----------------------------------------------------------------------------------

  /// How many resources there are; rows of amounts have this width.
  std::size_t width() const;
  std::string_view resource_name(resource_column column) const;
  /// Columns are in order of name, so that numbers change when a resource appears.
  std::optional<resource_column> column_of(std::string_view resource) const;
  /// The column of GPUs, which is asked for most; nothing where no node ever had any.
  std::optional<resource_column> gpu_column() const {
    return gpu_column_;
  }
  /// What a pod with these requests takes, by column, or nothing where it asks for a resource that
  /// no node has.
  std::optional<std::vector<std::int64_t>> columns(const resources& requests) const;

  // -- nodes --------------------------------------------------------------------------------------

  /// One above the highest row; rows of removed nodes in between are not `present`.
  node_row node_rows() const;
  std::size_t node_count() const;
  bool present(node_row n) const;
  node_row find_node(std::string_view name) const; ///< or `no_row`
  std::string_view node_name(node_row n) const;
  /// Labels, taints and flags as given; capacity is in `capacity`.
  const node& node_at(node_row n) const;
  /// Ready and schedulable.
  bool usable(node_row n) const;
  std::span<const std::int64_t> capacity(node_row n) const;
  /// Capacity less all that pods and holds take: what can start at once. May be below zero while
  /// victims leave whose room is held already.
  std::span<const std::int64_t> free(node_row n) const;
  /// `free` plus what leaves anyway (`evicted_by` set, or leaving): what can be promised.
  std::span<const std::int64_t> promised(node_row n) const;

  /// All nodes in order of name, with bounds to rule out many at once.
  const node_blocks& blocks() const {
    return blocks_;
  }

  /// Pods that could be told to go (bound, running or surplus, not yet a victim), most important
  /// first: priority, whole replicas before single pods, more pods, earlier start, name.
  std::span<const pod_row> pods_on(node_row n) const;
  /// Pods that leave anyway, in order of uid.
  std::span<const pod_row> leaving_on(node_row n) const;
  /// The priorities present in `pods_on`, highest first.
  std::span<const priority_step> steps(node_row n) const;
  /// Whether a pod on the node may have to stay whatever its priority: a daemon, one that asks not
  /// to go or not yet, or one of a portion with a protected member.
  bool has_immovable(node_row n) const;
  /// What the pods of step `s` and all lower ones hold together.
  std::span<const std::int64_t> held_from(node_row n, std::size_t s) const;

  // -- pods ---------------------------------------------------------------------------------------

  std::size_t pod_count() const;
  /// How many pods that could be told to go are of a lower priority.
  std::int64_t pods_below(std::int32_t priority) const;
  pod_row find_pod(std::string_view uid) const; ///< or `no_row`
  std::string pod_uid(pod_row p) const;
  node_row node_of(pod_row p) const;
  portion_row portion_of(pod_row p) const;
  std::int32_t index_of(pod_row p) const; ///< in its group's replica
  std::span<const std::int64_t> requests(pod_row p) const;
  pod_phase phase(pod_row p) const;
  bool leaving(pod_row p) const;          ///< by its phase, or as a victim
  std::int32_t priority(pod_row p) const; ///< its own; that of its portion is on the card
  bool is_daemon(pod_row p) const;
  bool opted_out(pod_row p) const;
  time_point created(pod_row p) const;
  time_point started(pod_row p) const;
  time_point checkpointed(pod_row p) const;
  std::string owner(pod_row p) const;
  /// Whether another pod names this one as its owner. Costs no look at the others.
  bool is_owner(pod_row p) const;
  /// The budgets that count this pod, as positions for `budget_at`.
  std::span<const std::uint32_t> budgets_of(pod_row p) const;

  // -- portions -----------------------------------------------------------------------------------

  portion_row find_portion(const portion_id& id) const; ///< or `no_row`
  portion_id id_of(portion_row p) const;
  portion_card card(portion_row p) const;
  portion_work work_of(portion_row p) const;
  /// What the portion has on those nodes of this view that `counts` says yes to.
  portion_part part_of(portion_row p, const std::function<bool(node_row)>& counts) const;
  /// The portion's pods that are not leaving, in order of node name and index.
  portion_pods pods_of(portion_row p) const;
  /// Whether `a` is more important than `b` (docs/policies.md#workload-aware step 5).
  bool more_important(portion_row a, portion_row b) const;

  // -- budgets ------------------------------------------------------------------------------------

  /// Budgets are in order of name.
  std::size_t budget_rows() const;
  const disruption_budget& budget_at(std::uint32_t row) const;
  /// How many more of its pods may go now.
  std::int64_t disruptions_allowed(std::uint32_t row) const;

  /// Bytes of memory the view takes, all in.
  std::size_t memory() const;

private:
  /// Most portions are one pod: such a portion has no record of its own, and its row is the pod's.
  /// Whole replicas, and ids that more than one pod has (the old one leaves while the new one
  /// starts), have a `shared_portion`, and their rows have this bit.
  static constexpr portion_row shared_bit = 0x8000'0000U;

  /// A portion's id, with workload and group as one interned name: their series.
  struct portion_key {
    name_pool::id series;
    std::int32_t replica;
    std::int32_t index;

    bool operator==(const portion_key&) const = default;
  };
  struct portion_key_hash {
    std::size_t operator()(const portion_key& key) const {
      return hash_of_key(key);
    }
  };

  /// What pods made from one template have in common.
  struct pod_kind {
    std::uint32_t shape;
    budget_table::label_set labels;
    name_pool::id owner; ///< `no_row` if it has none
    duration minimum_runtime;
    std::int32_t priority;
    bool daemon;
    bool opted_out;
    bool protected_member;

    bool operator==(const pod_kind&) const = default;
    std::uint64_t hash() const;
  };

  /// Enough for more kinds than a view has pods.
  static constexpr unsigned kind_bits = 27;

  /// What the engine reads most comes first, and stays within one line of the cache.
  struct alignas(16) pod_record {
    time_point started;
    std::uint32_t home; ///< the row of its shared portion; if it has none, its series
    std::uint32_t kind : kind_bits;
    std::uint32_t phase : 3;
    bool leaving : 1;
    bool shares_portion : 1;

    node_row node; ///< `no_row` once it is removed
    text_store::handle uid;
    time_point created;
    time_point checkpointed;
    std::int32_t replica;
    std::int32_t index;
  };
  static_assert(sizeof(pod_record) == 48);

  struct shared_portion {
    portion_key key{};
    portion_card card;
    portion_work work;
    std::vector<pod_row> pods; ///< first those that are not leaving
    std::uint32_t staying = 0; ///< how many these are
    bool stale = false;
  };

  struct node_state {
    node as_given;             ///< without its capacity
    std::vector<pod_row> pods; ///< those of `pods_on`, those of `leaving_on`, then holds
    std::vector<priority_step> steps;
    std::vector<std::int64_t> held; ///< a row of amounts for each step
    std::uint32_t evictable = 0;
    std::uint32_t leaving = 0;
    std::uint32_t summed_up = 0; ///< how many of the pods the amounts count
    bool immovable = false;      ///< as in `has_immovable`
    bool present = false;
    bool stale = false;
    bool only_held = false; ///< stale for nothing but holds that came
  };

  /// A pod with what orders it on its node.
  struct ranked_pod {
    portion_card card;
    portion_row portion;
    pod_row pod;
  };

  /// The rows of amounts that each node has.
  enum amounts_of_node : std::size_t { capacity_row, free_row, promised_row, rows_per_node };

  std::span<const std::int64_t> amounts(node_row n, amounts_of_node which) const;
  std::span<std::int64_t> amounts(node_row n, amounts_of_node which);
  void add_columns(const resources& amounts);
  std::vector<std::int64_t> row_of(const resources& amounts) const;
  std::vector<std::int64_t> row_of_node(const resources& capacity) const;
  std::vector<std::int64_t> row_of_pod(const resources& requests) const;
  void count_capacity(node_row n, std::int32_t by);

  std::uint64_t hash_of_node(node_row n) const;
  std::u16string_view packed_uid(pod_row p) const;
  std::strong_ordering compare_uids(pod_row a, pod_row b) const;
  std::uint64_t hash_of_pod(pod_row p) const;
  std::uint64_t hash_of_portion(portion_row p) const;
  static std::uint64_t hash_of_key(const portion_key& key);

  pod_row find_packed(std::u16string_view uid) const;
  const pod_kind& kind_of(pod_row p) const;
  pod_record describe(const pod& p, node_row n);
  pod_row come_further(const pod& p);
  void release(const pod_record& record);
  void drop(pod_row p);

  portion_key key_of(portion_row p) const;
  portion_row find_portion(const portion_key& key) const;
  std::strong_ordering compare_ids(portion_row a, portion_row b) const;
  void join(pod_row p, const portion_key& key);
  void leave(pod_row p);

  void mark_node(node_row n);
  void mark_hold(node_row n);
  void mark_portion(std::uint32_t shared);
  void settle_portion(std::uint32_t shared);
  void remember_settled();
  portion_card card_of(std::span<const pod_row> pods, bool group) const;
  portion_work work_of(std::span<const pod_row> pods) const;
  void settle_node(node_row n, std::vector<ranked_pod>& scratch);
  void sum_up(node_row n);
  void take_new_holds(node_row n);
  void count_priorities(const node_state& record, std::int64_t by);
  /// Looks at each pod of the block once.
  void describe(node_block& block) const;
  /// Makes the bounds hold for the node too; false where they have no step for one of its pods.
  bool raise_bounds(node_block& block, node_row n) const;
  void sum_up_room(node_block& block) const;

  std::vector<std::string> columns_;
  std::optional<resource_column> gpu_column_;
  std::vector<std::uint32_t> nodes_with_; ///< by column: how many nodes have some of it

  row_table<node_state, 64> nodes_;
  std::vector<std::int64_t> node_amounts_; ///< `rows_per_node` rows for each node
  row_index nodes_by_name_;
  node_blocks blocks_;
  std::map<std::int32_t, std::int64_t> pods_by_priority_; ///< of those in `pods_on`

  row_table<pod_record> pods_;
  text_store uids_;
  row_index pods_by_uid_;
  value_pool<pod_kind> kinds_;
  shape_table shapes_;
  budget_table budgets_;
  name_pool names_; ///< series and owners

  row_table<shared_portion, 64> shared_;
  row_index portions_by_key_;
  /// Of those few that have pods outside of this view. Each holds a reference to its series.
  std::unordered_map<portion_key, portion_part, portion_key_hash> elsewhere_;

  std::vector<node_row> stale_nodes_;
  std::vector<node_row> settled_; ///< the last of them in order
  std::uint64_t settled_before_ = 0;
  std::vector<std::uint32_t> stale_portions_;
  std::vector<pod_row> removed_pods_; ///< their rows are taken again only after `settle`
};

// -- what the engine reads most ------------------------------------------------------------------

inline std::size_t cluster_view::width() const {
  return columns_.size();
}

inline node_row cluster_view::node_rows() const {
  return nodes_.rows();
}

inline bool cluster_view::present(node_row n) const {
  return nodes_[n].present;
}

inline bool cluster_view::usable(node_row n) const {
  const auto& record = nodes_[n];
  return record.present && record.as_given.ready && record.as_given.schedulable;
}

inline std::span<const std::int64_t> cluster_view::amounts(node_row n,
                                                           amounts_of_node which) const {
  return {node_amounts_.data() + (std::size_t{n} * rows_per_node + which) * width(), width()};
}

inline std::span<const std::int64_t> cluster_view::capacity(node_row n) const {
  return amounts(n, capacity_row);
}

inline std::span<const std::int64_t> cluster_view::free(node_row n) const {
  return amounts(n, free_row);
}

inline std::span<const std::int64_t> cluster_view::promised(node_row n) const {
  return amounts(n, promised_row);
}

inline std::span<const pod_row> cluster_view::pods_on(node_row n) const {
  const auto& record = nodes_[n];
  return {record.pods.data(), record.evictable};
}

inline std::span<const pod_row> cluster_view::leaving_on(node_row n) const {
  const auto& record = nodes_[n];
  return {record.pods.data() + record.evictable, record.leaving};
}

inline bool cluster_view::has_immovable(node_row n) const {
  return nodes_[n].immovable;
}

inline std::span<const priority_step> cluster_view::steps(node_row n) const {
  return nodes_[n].steps;
}

inline std::span<const std::int64_t> cluster_view::held_from(node_row n, std::size_t s) const {
  return {nodes_[n].held.data() + s * width(), width()};
}

inline node_row cluster_view::node_of(pod_row p) const {
  return pods_[p].node;
}

inline portion_row cluster_view::portion_of(pod_row p) const {
  const auto& record = pods_[p];
  return record.shares_portion ? record.home | shared_bit : p;
}

inline const cluster_view::pod_kind& cluster_view::kind_of(pod_row p) const {
  return kinds_[pods_[p].kind];
}

inline std::span<const std::int64_t> cluster_view::requests(pod_row p) const {
  return shapes_.amounts(kind_of(p).shape);
}

inline pod_phase cluster_view::phase(pod_row p) const {
  return static_cast<pod_phase>(pods_[p].phase);
}

inline bool cluster_view::leaving(pod_row p) const {
  return pods_[p].leaving;
}

inline std::int32_t cluster_view::priority(pod_row p) const {
  return kind_of(p).priority;
}

inline std::span<const std::uint32_t> cluster_view::budgets_of(pod_row p) const {
  return budgets_.matching(kind_of(p).labels);
}

inline portion_pods cluster_view::pods_of(portion_row p) const {
  if ((p & shared_bit) != 0) {
    const auto& portion = shared_[p & ~shared_bit];
    return portion_pods{std::span{portion.pods}.first(portion.staying)};
  }
  return pods_[p].leaving ? portion_pods{std::span<const pod_row>{}} : portion_pods{p};
}

inline portion_card cluster_view::card(portion_row p) const {
  if ((p & shared_bit) != 0)
    return shared_[p & ~shared_bit].card;
  const auto& alone = pods_[p];
  if (alone.leaving)
    return {};
  const auto& kind = kinds_[alone.kind];
  return {.priority = kind.priority,
          .pods = 1,
          .earliest_start = alone.started,
          .minimum_runtime = kind.minimum_runtime,
          .evictable = !kind.protected_member,
          .daemon = kind.daemon,
          .opted_out = kind.opted_out};
}

} // namespace reprieve
