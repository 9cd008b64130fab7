#pragma once

#include "state/model/decision.hpp"
#include "tests/support/cluster_builder.hpp"

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace reprieve::tests {

using ranks = std::set<std::size_t>; ///< of portions; the most important in the cluster has 0
using node_names = std::set<std::string>;
using rooms = std::map<std::string, resources>;
using seats = std::vector<std::pair<std::string, resources>>; ///< nodes, and what is taken there

/// A cluster in which nobody leaves and everybody below the preemptor may go, as objects and maps:
/// what a decision about it costs, computed again without view or engine.
struct counted_cluster {
  counted_cluster(const cluster& given, const preemptor& placed, time_point at);

  /// Single nodes for a pod; for a gang all nodes, or those together that agree in its keys.
  std::vector<node_names> domains() const;
  /// Portions below the preemptor with a pod on one of the nodes.
  ranks candidates_on(const node_names& nodes) const;
  rooms room_left(const ranks& gone, const seats& taken) const;
  /// Of each how many pods exceed a budget when all go, most important first.
  std::map<std::size_t, std::int64_t> pods_over_budget(const ranks& gone) const;
  score score_of(const ranks& victims, const seats& taken) const;
  /// Whether a victim that comes back finds no room, and would without those below it.
  bool cascades(const ranks& victims, const seats& taken) const;

  std::int32_t priority_of(std::size_t rank) const {
    return portions[rank].front()->priority;
  }

  const cluster& in;
  const preemptor& who;
  time_point now;
  std::vector<std::vector<const pod*>> portions; ///< by rank
};

bool overdrawn(const resources& room);

/// Puts a pod on the first node by name that has room for it; false where none has.
bool first_fit(rooms& room, const node_names& nodes, const resources& requests, seats& taken);

} // namespace reprieve::tests
