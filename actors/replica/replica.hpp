#pragma once

#include "actors/replica/directory.hpp"
#include "actors/replica/membership.hpp"
#include "actors/replica/peers.hpp"
#include "actors/replica/restart_pauses.hpp"
#include "actors/replica/shard_loader.hpp"
#include "state/records/decision_archive_keys.hpp"
#include "state/store/store_history.hpp"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace reprieve {

/// Take a place among the replicas, load, recover, and answer when all that is owned serves.
struct start_serving {};

/// Give everything up, so that others take it over at once; answer when that is done.
struct stop_serving {};

/// A reminder to begin with the schema again.
struct look_at_schema {};

struct follow_directory {
  directory_follower_actor follower;
};

/// Have the store forget what is long past.
struct compact_store {};

/// Whoever spoke for a shard of another replica may have ended.
struct look_for_peers {};

/// The store did not answer when a shard was to be read, or the shard has to wait before that.
struct load_again {
  std::string shard;
  ownership_pointer owner;
};

} // namespace reprieve

REPRIEVE_MESSAGE(reprieve::start_serving)
REPRIEVE_MESSAGE(reprieve::look_at_schema)
REPRIEVE_MESSAGE(reprieve::stop_serving)
REPRIEVE_MESSAGE(reprieve::follow_directory)
REPRIEVE_MESSAGE(reprieve::compact_store)
REPRIEVE_MESSAGE(reprieve::load_again)
REPRIEVE_MESSAGE(reprieve::look_for_peers)

namespace reprieve {

/// One process's part in the cluster: starts the actors of what it owns from the store, ends those
/// of what it gives up, and lets no one serve before what was open is in hands again
/// (docs/architecture.md#ownership).
using replica_actor = typed_actor<
  /// Answers when this replica serves, or why it can't.
  handles<absl::Status(start_serving)>,
  /// Answers when nothing is owned any more.
  handles<absl::Status(stop_serving)>,
  /// From the membership: what is owned now.
  handles<void(ownership_update)>,
  /// From the membership.
  handles<void(ownership_lost)>,
  /// From those that read what a shard starts from.
  handles<void(shard_loaded)>,
  /// From the queue shard: resource groups may have come or gone.
  handles<void(catalog_update)>,
  /// From the queue shard, where it runs here.
  handles<void(groups_counted)>,
  /// Sends the follower who serves what, now and after every change.
  handles<void(follow_directory)>,
  /// From a connection to another replica.
  handles<void(peer_connected)>,
  /// Likewise.
  handles<void(peer_lost)>>;

/// With what the replica reminds itself of.
using private_replica_actor =
  replica_actor::extend<handles<void(look_at_schema)>, handles<void(look_for_peers)>,
                        handles<void(load_again)>, handles<void(compact_store)>>;

struct replica_settings {
  std::string name;
  std::string address;               ///< for the other replicas
  std::string secret{};              ///< to be shown there
  std::string api;                   ///< for everybody
  std::uint32_t node_shards = 4;     ///< of each group; counts when the cluster is created
  std::uint32_t workload_shards = 2; ///< likewise
  duration lease_time{std::chrono::seconds{5}}; ///< after which a silent replica counts as lost
  std::int64_t nodes_per_replica = 50'000;      ///< of one group; what is more of it goes to others
  archive_limits archive;                       ///< of finished decisions
  duration keep_history{0}; ///< of the store, by compacting it; 0: that is not ours to do
  duration hold_time{std::chrono::minutes{1}}; ///< a decision may take from its votes to its commit
  std::size_t most_domains_told = 64;          ///< with a decision
  batch_limits batches;                        ///< of what shards write
  std::int32_t schema = schema_version;        ///< the newest version of records that it knows
  std::shared_ptr<store> behind;
  std::shared_ptr<peers> others; ///< the way to them; null for a replica that is alone
  cluster_actor cluster;
  wall_clock clock;
  std::function<void(std::string)> lost; ///< called when it can't go on
  std::function<void(std::string)> say;  ///< called with what whoever runs it should know
};

struct replica_state {
  static inline const char* name = "replica";

  replica_settings settings;
  store_actor store;
  event_log_actor events;
  membership_actor members;
  std::optional<schema_record> schema;
  std::shared_ptr<const membership> known;
  std::shared_ptr<ownership> ground; ///< null while nothing can be owned

  /// What runs here, by what it is in the owner record.
  std::map<std::string, node_shard_actor> nodes;
  std::map<std::string, workload_shard_actor> workloads;
  std::map<std::string, coordinator_actor> coordinators;
  queue_shard_actor queues;
  std::map<caf::actor_addr, std::string> running; ///< the same, to know who has ended
  /// The same, to be ended with this one.
  std::shared_ptr<std::set<caf::strong_actor_ptr>> to_end =
    std::make_shared<std::set<caf::strong_actor_ptr>>();
  std::set<std::pair<std::string, std::string>> told_aside; ///< keys of records, and why
  std::set<std::string> unreadable; ///< shards that nobody can serve as they are in the store
  std::set<std::string> loading;
  std::map<std::string, std::shared_ptr<shard_contents>> loaded; ///< that wait for others
  std::map<std::string, group_shards> built_with;                ///< of the coordinators that run
  std::set<std::string> stopping; ///< what is told to end because it is given up
  std::set<std::string> outdated; ///< coordinators that are told to end
  /// Coordinators that begin anew in a later epoch than that in which they ended.
  std::map<std::string, revision> to_renew;
  time_point renewed = no_time; ///< when a new epoch was asked for last
  restart_pauses restarts;      ///< of what ended by itself

  /// One that speaks for what another replica owns.
  template <class Handle>
  struct proxy {
    Handle handle;
    std::string replica;
    bool answers = false; ///< a replica owns a shard before it serves it; not asked of coordinators
  };
  std::map<std::string, proxy<node_shard_actor>> other_nodes;
  std::map<std::string, proxy<workload_shard_actor>> other_workloads;
  std::map<std::string, proxy<coordinator_actor>> other_coordinators;
  std::optional<proxy<queue_shard_actor>> other_queues;
  std::map<std::string, event_follower_actor> other_logs;    ///< by replica
  std::map<caf::actor_addr, std::string> speaking;           ///< all of these, by what they are for
  std::map<std::string, std::uint64_t> connected;            ///< connections, by replica
  std::map<std::string, std::shared_ptr<ownership>> grounds; ///< of other replicas
  std::map<std::string, group_shards> introduced;            ///< groups with shards here
  bool looks_for_peers = false;                              ///< whether a reminder is under way

  std::shared_ptr<const catalog> catalog_known;
  by_name<std::int64_t> nodes_of_groups;
  std::shared_ptr<const directory> serving;
  promise<absl::Status> ready;
  bool started = false;
  int tries = 0; ///< to find the schema
  store_history history;
  std::vector<directory_follower_actor> followers;
};

using replica_pointer = private_replica_actor::stateful_pointer<replica_state>;

private_replica_actor::behavior_type replica(replica_pointer self, replica_settings settings);

} // namespace reprieve
