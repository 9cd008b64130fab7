#pragma once

#include "preemption/lifecycle_cycle.hpp"
#include "preemption/lifecycle_match.hpp"

#include <map>
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
  std::int32_t unseated = 0;  ///< committed replicas without a pod that no node has room for
  std::string why_no_more;    ///< where something but room is in the way

  std::int32_t lacking() const {
    const auto has = now.committed - unseated;
    return of->wanted > has ? of->wanted - has : 0;
  }
};

/// What queues may still take here.
class lifecycle_grants {
public:
  explicit lifecycle_grants(const lifecycle_cycle_input& given)
      : granted_(given.granted), used_(given.used) {}

  /// Why the queue may not take so much more; empty where it may.
  std::string why_not(std::string_view queue, const resources& more) const;
  void take(std::string_view queue, const resources& more);
  void give_back(std::string_view queue, const resources& less);

private:
  const std::optional<by_name<resources>>& granted_;
  by_name<resources> used_;
};

/// What one replica takes of a quota.
resources taken_by_replica(const lifecycle_deployment& who);

/// Normal allocation (seed 000): commits replicas as far as there is room for their pods, the most
/// important deployments first. Which nodes they get, the cluster decides; here it is only made
/// sure that there are some.
class lifecycle_allocation {
public:
  lifecycle_allocation(const cluster_view& view, const lifecycle_cycle_input& given);

  void run();

  /// In the order in which deployments have their turn.
  const std::vector<counted_share>& shares() const {
    return shares_;
  }
  lifecycle_grants& grants() {
    return grants_;
  }
  by_name<resources>& blocked() {
    return blocked_;
  }

private:
  /// Room that a nomination needs of what is free now: the rest is with its victims still.
  struct held_room {
    std::string_view deployment;
    std::int32_t priority = 0;
    std::vector<std::int64_t> amount;
  };

  void count_pods();
  void hold_nominated();
  void seat_those_on_their_way(counted_share& share);
  void give_more(counted_share& share);
  bool is_held(const counted_share& share, node_row n, amounts request) const;
  std::span<wide_int> room(node_row n) {
    return std::span{room_}.subspan(std::size_t{n} * view_.width(), view_.width());
  }
  class seat_search;

  const cluster_view& view_;
  const lifecycle_cycle_input& given_;
  lifecycle_grants grants_;
  std::vector<counted_share> shares_;
  std::vector<node_row> nodes_; ///< by name
  std::vector<wide_int> room_;  ///< a row of amounts for each node
  std::map<node_row, std::vector<held_room>> held_;
  by_name<resources> blocked_;
};

} // namespace reprieve
