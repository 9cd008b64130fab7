#pragma once

#include "preemption/policies/lifecycle/lifecycle_cycle.hpp"
#include "preemption/policies/lifecycle/lifecycle_match.hpp"
#include "preemption/policies/queues/group_shares.hpp"

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace reprieve {

/// A deployment's share of the cluster while a cycle goes on.
struct counted_share {
  const counted_deployment* of = nullptr;
  placement now;              ///< as it is to be after the cycle
  bool exists = false;        ///< as a record
  std::int32_t committed = 0; ///< before the cycle
  std::int32_t bound = 0;     ///< pods on nodes that are not leaving
  std::int32_t leaving = 0;   ///< pods on nodes that are
  bool taken_back = false;    ///< replicas without a pod that may not have one
  bool could_run = false;     ///< on some node, were that empty
  std::string why_no_more;    ///< where something but room is in the way

  std::int32_t lacking() const {
    return of->wanted > now.committed ? of->wanted - now.committed : 0;
  }
};

/// What queues may still take here (docs/policies.md#queues).
class lifecycle_grants {
public:
  /// `asked` is what replicas ask for that have no pod.
  lifecycle_grants(const std::optional<queue_stage_input>& queues, const replica_needs& asked);

  /// What keeps the queue from so much more, of free room or, with `from_others`, of what others
  /// have: that is only for those who deserve it. Empty where nothing does.
  std::string in_the_way(std::string_view queue, const resources& more, bool from_others) const;
  void take(std::string_view queue, const resources& more) {
    add(queue, more, 1);
  }
  void give_back(std::string_view queue, const resources& less) {
    add(queue, less, -1);
  }

private:
  void add(std::string_view queue, const resources& amounts, std::int64_t sign);
  /// Whether the queue stage would let it keep so much more.
  bool keeps(std::string_view queue, const resources& more) const;

  queue_stage_input in_;
  std::optional<group_shares> shares_; ///< where queues count
};

/// What one replica takes of a quota.
resources taken_by_replica(const lifecycle_deployment& who);

/// Normal allocation (docs/policies.md#lifecycle): commits replicas as far as there is room for
/// their pods, the most important deployments first. Which nodes they get, the cluster decides;
/// here it is only made sure that there are some.
class lifecycle_allocation {
public:
  lifecycle_allocation(const cluster_view& view, const lifecycle_cycle_input& given);

  void run();

  /// In the order in which deployments have their turn.
  const std::vector<counted_share>& shares() const {
    return shares_;
  }
  const lifecycle_grants& grants() const {
    return *grants_;
  }
  /// As many replicas are on their way as are committed and have no pod.
  replica_needs needs() const;

private:
  /// Room that a nomination needs of what is free now: the rest is with its victims still.
  struct held_room {
    std::string_view deployment;
    std::int32_t priority = 0;
    std::vector<std::int64_t> amount;
  };

  void count_pods();
  void see_who_could_run();
  void hold_nominated();
  void seat_those_on_their_way(counted_share& share);
  void keep_those_about_to_go(counted_share& share);
  /// Of what its queue deserves, or of what is left of all; or it is only told why there is no
  /// more.
  enum class gives { what_is_deserved, what_is_left, only_reasons };
  void give_more(counted_share& share, gives what);
  bool is_held(const counted_share& share, node_row n, amounts request) const;
  std::span<wide_int> room(node_row n) {
    return std::span{room_}.subspan(std::size_t{n} * view_.width(), view_.width());
  }
  class seat_search;

  const cluster_view& view_;
  const lifecycle_cycle_input& given_;
  std::optional<lifecycle_grants> grants_;
  std::vector<counted_share> shares_;
  std::vector<node_row> nodes_; ///< by name
  std::vector<wide_int> room_;  ///< a row of amounts for each node
  std::map<node_row, std::vector<held_room>> held_;
};

} // namespace reprieve
