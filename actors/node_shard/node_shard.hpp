#pragma once

#include "actors/durability/hold_book.hpp"
#include "actors/durability/ledger.hpp"
#include "actors/interfaces/cluster.hpp"
#include "actors/interfaces/decision_protocol.hpp"
#include "actors/interfaces/event_log.hpp"
#include "actors/interfaces/followers.hpp"
#include "actors/interfaces/node_delta.hpp"
#include "actors/interfaces/node_evaluation.hpp"
#include "actors/interfaces/record_table.hpp"
#include "actors/node_shard/heartbeat_tracker.hpp"
#include "actors/node_shard/shard_view.hpp"
#include "actors/workload_shard/workload_shard.hpp"
#include "state/containers/name_map.hpp"
#include "state/records/node_record.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace reprieve {

struct put_nodes {
  std::vector<node> nodes;
  std::vector<apply_outcome> told{}; ///< what becomes of each; it is refused where that is not so

  bool operator==(const put_nodes&) const = default;
};

struct remove_nodes {
  std::vector<std::string> names;
  bool force = false; ///< with the pods on them, which are given up for lost

  bool operator==(const remove_nodes&) const = default;
};

/// The shard's reminder to itself that a grace period may be over.
struct look_at_stops {};

/// The shard's reminder to itself that a node may have been silent for too long.
struct look_at_silence {
  time_point at = no_time; ///< when that was expected to be
};

/// The shard's reminder to itself that nodes are lost, and what is left to be done about that.
struct look_at_lost {
  time_point at = no_time; ///< when it was to come
};

/// What the group's settings say from now on.
struct use_group_limits {
  duration force_delete_after{0}; ///< that pods have past their grace period
  duration heartbeat_timeout{0};
  bool own_scheduler = false; ///< the cluster places pods of deployments by itself
  duration lost_node_timeout{0};

  bool operator==(const use_group_limits&) const = default;
};

/// The workload shards of the same resource group, by shard number.
struct meet_workloads {
  std::vector<workload_shard_actor> shards;
};

/// The shard's reminder to itself that orders are left to be given again after its start.
struct repeat_more_orders {};

/// Stop pods without a decision, because their workload was deleted.
struct stop_pods {
  std::vector<victim_pod> pods;
  std::string reason;

  bool operator==(const stop_pods&) const = default;
};

} // namespace reprieve

REPRIEVE_MESSAGE(reprieve::put_nodes)
REPRIEVE_MESSAGE(reprieve::remove_nodes)
REPRIEVE_MESSAGE(reprieve::lend<reprieve::put_nodes>)
REPRIEVE_MESSAGE(reprieve::lend<reprieve::remove_nodes>)
REPRIEVE_MESSAGE(reprieve::stop_pods)
REPRIEVE_MESSAGE(reprieve::meet_workloads)
REPRIEVE_MESSAGE(reprieve::repeat_more_orders)
REPRIEVE_MESSAGE(reprieve::look_at_stops)
REPRIEVE_MESSAGE(reprieve::look_at_silence)
REPRIEVE_MESSAGE(reprieve::look_at_lost)
REPRIEVE_MESSAGE(reprieve::use_group_limits)
REPRIEVE_MESSAGE(reprieve::heartbeat_request)
REPRIEVE_MESSAGE(reprieve::heartbeat_result)

namespace reprieve {

/// Owns a slice of the nodes and the pods on them, and is the only writer of their records.
using node_shard_actor = typed_actor<
  /// Adds nodes, or changes all but their pods; answers when durable.
  handles<absl::Status(put_nodes)>,
  /// Takes nodes away; refused while pods are on one, unless by force.
  handles<absl::Status(remove_nodes)>,
  /// Likewise where others write it.
  handles<lent_result(lend<put_nodes>)>, handles<lent_result(lend<remove_nodes>)>,
  handles<lent_result(lend<close_shard>)>, handles<absl::Status(lent_end)>,
  /// Orders pods to stop; answers when it is durable that they will.
  handles<absl::Status(stop_pods)>,
  /// Where to tell how pods ended.
  handles<void(meet_workloads)>,
  /// Sends the follower all records, then every change.
  handles<void(follow_nodes)>,
  /// From the coordinator: what its own records do not tell.
  handles<void(portion_facts)>,
  /// Says what its nodes have for a preemptor, from its own view of them.
  handles<shard_evaluation(evaluate_nodes)>,
  /// Votes, and holds on a yes.
  handles<absl::Status(prepare<node_parts>)>,
  /// Drops a hold whose decision did not commit.
  handles<void(release_hold)>,
  /// Nominates, and makes the stop of the victims durable before it tells them.
  handles<absl::Status(apply_parts<node_parts>)>,
  /// Promises a `room_free` for when the decision's room is free.
  handles<void(await_room)>,
  /// Binds and starts what the decision nominated; answers when durable.
  handles<absl::Status(start_pods)>,
  /// Takes nominations and untold victims back; answers when durable.
  handles<absl::Status(withdraw)>,
  /// From the cluster that runs the pods.
  handles<void(pod_reports)>,
  /// From the coordinator: the group's settings have changed.
  handles<void(use_group_limits)>,
  /// Answers with the nodes that are not here.
  handles<heartbeat_result(heartbeat_request)>,
  /// From a coordinator that begins anew.
  handles<void(drop_votes)>,
  /// How many there are; by the answer another replica knows that the shard serves.
  handles<std::size_t(count_holds)>, handles<absl::Status(confirm_ownership)>>;

/// With what the shard reminds itself of.
using private_node_shard_actor =
  node_shard_actor::extend<handles<void(repeat_more_orders)>,
                           /// Writes down who is past its grace period.
                           handles<void(look_at_stops)>,
                           /// Writes down who was silent for too long.
                           handles<void(look_at_silence)>,
                           /// Gives up the pods of nodes that are lost for too long.
                           handles<void(look_at_lost)>,
                           /// Takes back holds that nobody has come back for, once their abort is
                           /// durable.
                           handles<void(look_at_holds)>, handles<void(ledger_flush)>,
                           handles<void(ledger_retry)>>;

struct node_shard_settings {
  std::string shard;
  record_table<node_record>::map_type records; ///< as the store has them
  by_name<left_pods> left_behind;              ///< likewise, by node that was deleted
  ledger_settings ledger;
  cluster_actor cluster;
  duration force_delete_after{0};
  duration hold_time{0}; ///< how long a decision may take from the vote to the commit
  wall_clock clock;
  duration heartbeat_timeout{0};
  duration lost_node_timeout{0};
  event_log_actor events;
  objects_aside aside{};
};

struct node_shard_state {
  static inline const char* name = "node_shard";

  std::string shard;
  record_table<node_record> records;
  /// Nodes that can't be read: what can be told of them stands among the records, and is not
  /// written.
  objects_aside aside;
  shard_view view; ///< of the durable records
  reprieve::ledger ledger;
  cluster_actor cluster;
  std::vector<workload_shard_actor> workloads; ///< of the same resource group, once it knows them
  /// Nodes with pods that run, about which the cluster is to be asked.
  std::vector<std::string> to_repeat;
  duration force_delete_after{0};
  wall_clock clock;

  hold_book<node_parts> holds;
  std::multiset<std::string> removing; ///< nodes, by each who asks for it

  /// A pod that was told to stop and has its grace period.
  struct stop {
    std::string node;
    time_point force_at = no_time;
  };
  std::map<std::string, stop, std::less<>> stopping; ///< by uid
  bool looks_at_stops = false;                       ///< whether a reminder is under way

  bool own_scheduler = false; ///< of the cluster that the nodes are in

  duration heartbeat_timeout{0};
  heartbeat_tracker heard;        ///< the nodes whose agents send heartbeats, but those lost
  time_point next_look = no_time; ///< for who was silent for too long; a reminder is under way
  duration lost_node_timeout{0};
  std::set<std::string, std::less<>> away;     ///< nodes that are lost, or whose pods were given up
  time_point next_look_at_lost = no_time;      ///< a reminder is under way
  by_name<left_pods> left_behind;              ///< by node that was deleted by force
  std::vector<std::function<bool()>> removals; ///< that wait for pods to be gone; true when over
  event_log_actor events;
  time_point closed_until = no_time; ///< nodes do not come until then

  name_map<await_room> awaiting; ///< by decision
  /// The decisions that wait for room on a node, by node.
  name_map<std::set<std::string>> awaited_on;
  std::set<std::string, std::less<>> granted; ///< decisions that were told that their room is free
  /// The nodes that open decisions have nominations or victims on.
  name_map<std::set<std::string>> touched;
  std::vector<node_follower_actor> followers;
  std::uint64_t deltas = 0;
};

/// What its orders carry, so that those of an earlier owner are refused.
inline revision epoch_of(const node_shard_state& state) {
  return state.ledger.settings.owner->lasting_epoch();
}

using node_shard_pointer = private_node_shard_actor::stateful_pointer<node_shard_state>;

private_node_shard_actor::behavior_type node_shard(node_shard_pointer self,
                                                   node_shard_settings settings);

} // namespace reprieve
