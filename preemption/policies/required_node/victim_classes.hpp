#pragma once

#include "preemption/pipeline/candidates.hpp"
#include "preemption/problem/fraction.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace reprieve {

/// Pods that weigh alike when one of them must go (docs/policies.md#required-node).
struct victim_class {
  std::string_view name; ///< as reasons tell it
  bool (*takes)(const cluster_view& view, pod_row p);
};

/// All classes, in the order they are used up. A portion is of the last one that takes one of its
/// pods, so that a further class needs one more line at its place, and nothing else.
std::span<const victim_class> victim_classes();

/// What one pod asks for on a node, and what the node lacks of it.
struct wanted_room {
  node_row node = no_row;
  amounts request;
  std::vector<std::int64_t> missing; ///< beyond what is free or becomes free anyway; zero if enough
};

wanted_room room_wanted(const cluster_view& view, node_row n, amounts request);

/// A portion that may go from a node.
struct possible_victim {
  portion_row portion = no_row;
  std::size_t rank = 0; ///< of its class in `victim_classes`
  std::int32_t priority = 0;
  bool started = false;
  time_point since = no_time;     ///< when it was started; if it was not, created
  std::vector<std::int64_t> held; ///< on the node, by column
  fraction size;                  ///< see `size_of`
  std::string uid;                ///< of its first pod
};

/// How large a victim is: what it holds of the request, of the resource that this is most of. Only
/// resources that the node is short of count: others are of no help.
fraction size_of(amounts held, const wanted_room& wanted);

/// Everybody on the node who may go, in order: by class, then lowest priority, then
/// youngest, then largest; uids break ties. Who has not started yet is younger than all who have.
std::vector<possible_victim>
possible_victims(const cluster_view& view, const candidate_rules& rules, const wanted_room& wanted);

} // namespace reprieve
