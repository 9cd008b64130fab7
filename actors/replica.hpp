#pragma once

#include "actors/directory.hpp"

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace reprieve {

/// Take ownership, load, recover, and answer when everything serves.
struct start_serving {};

/// A resource group's records as the store has them.
struct group_contents {
  std::vector<record_table<node_record>::map_type> nodes;         ///< by shard number
  std::vector<record_table<workload_record>::map_type> workloads; ///< likewise
  std::vector<record_table<disruption_budget>::map_type> budgets;
  std::vector<record_table<placement>::map_type> placements;
  std::vector<open_decision> open;
};

struct follow_directory {
  directory_follower_actor follower;
};

/// Forget finished decisions that are too old.
struct prune_decisions {};

} // namespace reprieve

REPRIEVE_MESSAGE(reprieve::start_serving)
REPRIEVE_MESSAGE(reprieve::follow_directory)
REPRIEVE_MESSAGE(reprieve::prune_decisions)

namespace reprieve {

/// One process's part in the cluster: owns shards, starts their actors from the store, and lets no
/// one serve before what was open is in hands again (DESIGN 4, ownership).
using replica_actor = typed_actor<
  /// Answers when this replica serves, or why it can't.
  handles<absl::Status(start_serving)>,
  /// From the queue shard: resource groups may have come or gone.
  handles<void(catalog_update)>,
  /// Sends the follower who serves what, now and after every change.
  handles<void(follow_directory)>,
  /// From itself.
  handles<void(prune_decisions)>>;

struct replica_settings {
  std::string name;
  std::string address;
  std::uint32_t node_shards = 4;     ///< of each group; counts when the cluster is created
  std::uint32_t workload_shards = 2; ///< likewise
  duration keep_decisions{std::chrono::hours{24}};
  duration hold_time{std::chrono::minutes{1}}; ///< a decision may take from its votes to its commit
  std::size_t most_domains_told = 64;          ///< with a decision
  std::shared_ptr<store> behind;
  cluster_actor cluster;
  wall_clock clock;
  std::function<void(std::string)> lost; ///< called when it can't go on
};

struct replica_state {
  static inline const char* name = "replica";

  replica_settings settings;
  revision epoch = 0;
  store_door_actor store;
  std::shared_ptr<const directory> serving;
  std::map<std::string, key_value> sequences;             ///< of the ledgers, by key
  std::map<std::string, std::vector<open_decision>> open; ///< by resource group, until it serves
  std::set<std::string> loading;                          ///< groups under way
  promise<absl::Status> ready;
  bool started = false;
  std::vector<directory_follower_actor> followers;
};

replica_actor::behavior_type replica(replica_actor::stateful_pointer<replica_state> self,
                                     replica_settings settings);

} // namespace reprieve
