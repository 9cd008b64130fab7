#pragma once

#include "preemption/cycle/holds.hpp"
#include "preemption/evaluation/evaluation_hints.hpp"
#include "preemption/policies/queues/group_shares.hpp"
#include "preemption/policies/queues/quota_victims.hpp"
#include "preemption/problem/plan.hpp"
#include "preemption/waiting/waiting_line.hpp"

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace reprieve {

/// What has to be known to judge one unit.
class judgement_port {
public:
  judgement_port() = default;
  virtual ~judgement_port() = default;
  judgement_port(const judgement_port&) = delete;
  judgement_port& operator=(const judgement_port&) = delete;

  /// The nodes with everything that is decided, settled for looking at single nodes.
  virtual cluster_view& nodes() = 0;
  /// Likewise, settled as a whole.
  virtual cluster_view& view() = 0;
  /// The pods of these queues that take room.
  virtual std::vector<queue_pod> pods_in(const std::vector<std::string>& queues) = 0;
  /// The queue of a workload, empty where it is in none.
  virtual std::string_view queue_of(std::string_view workload) = 0;
  /// Whether the pods of that group of the workload come together.
  virtual bool is_gang(std::string_view workload, std::string_view group) = 0;
  /// The decisions that held room for pods of a lower priority when the cycle began, and can be
  /// given up. They are there until something is decided.
  virtual std::span<const held_decision> holds_below(std::int32_t priority) = 0;
  /// What shards said of units of this kind; null where they were not asked.
  virtual live_hints* answers_for(const preemptor& who) = 0;
  /// Asks shards for units of this kind, where that is of use. The cycle goes on with the answers.
  virtual bool ask_shards(const preemptor& who, const plan_settings& settings) = 0;
  /// Whether it would.
  virtual bool may_ask_shards(const preemptor& who, const plan_settings& settings) = 0;
  /// Of more domains than this, only those that a unit gets are told of.
  virtual std::size_t most_domains_told() const = 0;
  /// Since when its required node is reserved for the unit; `no_time` where it is not.
  virtual time_point reserved_since(const preemptor& who) = 0;
};

/// Whether the pods of that group come together.
bool is_gang(const workload& of, std::string_view group);

/// What more important work of a unit's queue takes that was stopped and comes back. Whoever takes
/// the room before it would only have to go again.
struct claims {
  /// So far ahead of them nobody is stopped for the unit, and so far it does not start in free
  /// room.
  static constexpr std::chrono::seconds longest{30};
  static constexpr std::chrono::seconds shortest{1};

  group_shares::amounts_by_column later; ///< empty where there are none
  group_shares::amounts_by_column soon;  ///< of them, those that come so soon
  /// Tells what work takes that comes so soon, by leaf. Nobody borrows what other queues deserve.
  /// Asked only where somebody borrows, as it costs a look at all that was stopped.
  using by_leaf = std::map<std::size_t, group_shares::amounts_by_column>;
  std::function<const by_leaf&()> elsewhere;

  static void add(group_shares::amounts_by_column& sum,
                  const group_shares::amounts_by_column& more);
};

/// What comes to a queue or leaves it.
struct quota_movement {
  std::size_t leaf = no_vertex;
  group_shares::amounts_by_column amounts;
  std::int64_t sign = 1;
};

/// What comes of a unit when it is its turn.
struct judgement {
  plan made;
  std::vector<given_up> gives_up;       ///< for the plan
  std::vector<quota_movement> released; ///< what those decisions held
  std::string quota; ///< which quota is in the way, as a sentence; empty where none is
  bool asks = false; ///< shards are asked first: nothing is known yet
  /// The unit with all its pods needed, where the plan is for that.
  std::shared_ptr<const preemptor> as_a_whole;
  bool no_queue = false;         ///< its queue does not exist
  bool entitled = false;         ///< it is within what its queue deserves
  bool may_borrow = false;       ///< it takes nothing that is kept for others
  bool goes_with_more = false;   ///< others would take back a part, and all of it would go
  bool others_lack_room = false; ///< those of other queues whom it would stop have none elsewhere
  bool lets_others_back = false; ///< more important work of its queue comes back first
};

/// Judges units by the nodes' room and by their queue's quota together
/// (docs/policies.md#workload-aware, docs/policies.md#queues).
///
/// Whoever is within what its queue deserves may have free room, else that of queues that use more
/// than they deserve, else that of less important ones anywhere.
///
/// Whoever is beyond that may have free room that nobody is promised, else that of less important
/// ones of its own queue.
///
/// Whoever is beyond a limit may have the room of less important ones below that limit, even where
/// nodes have free room, as long as their queues keep what they are guaranteed.
class unit_judge {
public:
  unit_judge(judgement_port& port, plan_settings settings, const group_shares& shares)
      : port_(port), settings_(std::move(settings)), shares_(shares) {}

  judgement judge(const waiting_unit& unit, bool at_front, const claims& before = {});

  /// Pods go, or may have gone: who may be a victim is to be found anew.
  void forget_candidates() {
    candidates_.clear();
  }

  /// What the plan takes and gives back in the queues.
  std::vector<quota_movement> movements_of(const waiting_unit& unit, const plan& made);
  /// What those give back in the queues who leave its nodes anyway and without whose room it does
  /// not fit: they have gone when it starts.
  std::vector<quota_movement> awaited_by(const plan& made);

private:
  using column_amounts = group_shares::amounts_by_column;

  std::vector<std::optional<resource_column>> columns_in_view();
  using obstacle = group_shares::obstacle;

  /// One unit while it is judged.
  struct case_at_hand {
    const waiting_unit& unit;
    const preemptor& who;
    std::size_t leaf = no_vertex;
    column_amounts asked; ///< at least
    const claims& before;
  };

  void by_room_and_quota(const case_at_hand& of, judgement& made);
  bool is_pinned(const case_at_hand& of) const;
  bool lets_others_back(const case_at_hand& of, const column_amounts& claimed,
                        judgement& made) const;
  bool leaves_others_what_they_come_for(const case_at_hand& of, judgement& made) const;
  void by_priority(const preemptor& who, judgement& made);
  bool take_waiting_holds(const preemptor& who, std::span<const held_decision> holds,
                          judgement& made);
  bool by_reclaim(const case_at_hand& of, judgement& made);
  std::optional<plan> reclaim(const case_at_hand& of, std::span<const lavish_queue> queues,
                              reclaim_rules rules);
  std::optional<plan> reclaim_without_some(const case_at_hand& of,
                                           std::span<const lavish_queue> queues,
                                           const reclaim_rules& given);
  std::vector<lavish_queue> lavish_queues_for(const case_at_hand& of, std::size_t below);
  void take_back_within_limit(const case_at_hand& of, const obstacle& limit, reclaims down_to,
                              judgement& made);
  bool others_find_room_again(const case_at_hand& of, const plan& made);
  void among_its_own(const case_at_hand& of, judgement& made);
  void within_quota(const case_at_hand& of, const obstacle& first, judgement& made);
  bool within_share(const case_at_hand& of, judgement& made);
  /// The portions that it may take the room of, in their order.
  std::vector<queue_portion> less_important_below(const case_at_hand& of, std::size_t vertex);
  plan decide_among_these(const case_at_hand& of, const std::vector<queue_portion>& candidates);
  const std::vector<queue_portion>& portions_below(std::size_t vertex);
  bool could_make_room(const case_at_hand& of, const obstacle& first, const column_amounts& allowed,
                       const std::vector<queue_portion>& candidates) const;
  void leave_closed_nodes(std::vector<queue_portion>& candidates);
  void leave_guarantees(std::size_t own, std::vector<queue_portion>& candidates);
  bool take_holds_within_quota(const case_at_hand& of, const obstacle& first, judgement& made);
  /// Adds victims by their amounts alone until the quota holds; false where nobody else may go.
  bool add_victims_for(const case_at_hand& of, const obstacle& first, column_amounts allowed,
                       std::vector<queue_portion> candidates, plan& made, bool takes_back = false);
  /// Drops the pods of a plan beyond those needed, or the plan, where the quota does not allow
  /// them.
  void keep_within_quota(const case_at_hand& of, judgement& made);
  bool quota_allows(const case_at_hand& of, judgement& made);
  bool replaces_one_as_large(const case_at_hand& of, const judgement& judged,
                             const column_amounts& taken);
  bool adds_to_a_whole(const case_at_hand& of, const plan& made) const;
  /// Whether a portion of the plan would be partly within what the queue deserves and partly beyond
  /// it, in room that another queue deserves and asks for.
  bool would_go_with_more(const case_at_hand& of, const plan& made, const group_shares& after,
                          const column_amounts& taken);
  /// What the decisions hold that are given up.
  std::vector<quota_movement> released_by(std::span<const held_decision> holds,
                                          const std::vector<given_up>& which);
  column_amounts allowed_at(const obstacle& one, const column_amounts& asked) const;
  column_amounts taken_by(const plan& made) const;

  judgement judge_as_asked(const waiting_unit& unit, bool at_front, const claims& before);

  judgement_port& port_;
  plan_settings settings_;
  const group_shares& shares_;
  bool asks_nobody_ = false;                                     ///< shards are not asked
  std::map<std::size_t, std::vector<queue_portion>> candidates_; ///< by vertex, in their order
};

/// The unit as one that does without none of its pods.
std::shared_ptr<const preemptor> with_all_needed(preemptor who);

/// What the pods that are needed of the preemptor take, by column.
group_shares::amounts_by_column asked_by(const group_shares& shares, const preemptor& who);
group_shares::amounts_by_column asked_by(std::span<const std::string> columns,
                                         const preemptor& who);

} // namespace reprieve
