#pragma once

#include "actors/caf.hpp"
#include "state/model/decision.hpp"
#include "state/model/portion.hpp"
#include "state/model/workload.hpp"
#include "state/records/node_record.hpp"
#include "state/view/budget_count.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace reprieve {

/// What one decision does to one workload.
struct workload_part {
  std::string workload;
  std::int64_t generation = 0; ///< that the plan saw; 0 for one that only loses portions
  std::vector<std::pair<pod_slot, std::uint32_t>> placed; ///< with their incarnations
  std::vector<portion_id> evicted;
  std::vector<std::string> evicted_pods; ///< of these, by uid: those who came since stay
  bool loses_replicas = false;           ///< that its cluster counts

  bool operator==(const workload_part&) const = default;
};

/// What one decision does to the nodes of one shard.
using node_parts = std::vector<node_part>;

/// What it does to the workloads and placements of one shard, and what it takes from the budgets
/// there.
struct workload_parts {
  std::vector<workload_part> workloads;
  std::vector<budget_part> budgets;
  std::vector<count_change> counts; ///< of the shard's placements

  bool operator==(const workload_parts&) const = default;
};

// The messages of the two-phase commit (docs/protocol.md#two-phase-commit) between a decision and
// the shards it touches. `parts` are the receiver's own: node_parts or workload_parts.

/// Asks for a vote; a yes holds what was asked for under the decision's id.
template <class Parts>
struct prepare {
  std::string decision;
  std::string resource_group;
  Parts parts;
  bool at_once = false; ///< for a node shard: the room has to be free now
  trace_context trace;

  bool operator==(const prepare&) const = default;
};

/// Lets a hold go before the commit; or the decision, which the shard has carried out at once, is
/// over.
struct release_hold {
  std::string decision;

  bool operator==(const release_hold&) const = default;
};

/// The decision is committed: put your part into your records. A node shard tells the victims when
/// it is durable that they go and are told. Again and again is the same as once.
template <class Parts>
struct apply_parts {
  std::string decision;
  Parts parts;
  bool at_once = false; ///< for a node shard: bind and start what it would nominate
  trace_context trace;
  /// For a node shard: the coordinator began anew and can't know who was told before. The shard
  /// does, and tells people of those victims that hear of it only now.
  bool recovered = false;

  bool operator==(const apply_parts&) const = default;
};

/// The decision is starting: bind what it nominated.
struct start_pods {
  std::string decision;
  trace_context trace;

  bool operator==(const start_pods&) const = default;
};

/// Take the decision's nominations and untold victims back; `told` are the portions that go anyway.
struct withdraw {
  std::string decision;
  std::vector<portion_id> told;
  std::vector<portion_id> reprieved; ///< the victims that stay after all
  trace_context trace;

  bool operator==(const withdraw&) const = default;
};

/// Sent when everything a decision nominated on the shard's nodes can be bound.
struct room_free {
  std::string decision;
  std::string shard;

  bool operator==(const room_free&) const = default;
};

using room_listener_actor = typed_actor<handles<void(room_free)>>;

/// Tell `listener` when the decision's room is free, now or later.
struct await_room {
  std::string decision;
  room_listener_actor listener;
  /// Its victims have to be gone, too: what they use counts in the quota that it takes from them,
  /// wherever its own room is.
  bool victims_gone = false;
};

} // namespace reprieve

REPRIEVE_MESSAGE(reprieve::prepare<reprieve::node_parts>)
REPRIEVE_MESSAGE(reprieve::prepare<reprieve::workload_parts>)
REPRIEVE_MESSAGE(reprieve::release_hold)
REPRIEVE_MESSAGE(reprieve::apply_parts<reprieve::node_parts>)
REPRIEVE_MESSAGE(reprieve::apply_parts<reprieve::workload_parts>)
REPRIEVE_MESSAGE(reprieve::start_pods)
REPRIEVE_MESSAGE(reprieve::withdraw)
REPRIEVE_MESSAGE(reprieve::room_free)
REPRIEVE_MESSAGE(reprieve::await_room)
