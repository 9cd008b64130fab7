#pragma once

#include "actors/coordinator/coordinator.hpp"
#include "actors/interfaces/event_log.hpp"
#include "state/membership/membership_rules.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <string>

namespace reprieve {

/// There is a connection to the replica by now. They are numbered: the end of one may be told after
/// the next is there.
struct peer_connected {
  std::string replica;
  std::uint64_t connection = 0;
};

/// The connection has ended, and with it all that spoke for the replica's shards here.
struct peer_lost {
  std::string replica;
  std::uint64_t connection = 0;
};

} // namespace reprieve

REPRIEVE_MESSAGE(reprieve::peer_connected)
REPRIEVE_MESSAGE(reprieve::peer_lost)

namespace reprieve {

/// Who is told of connections.
using peer_listener_actor = typed_actor<handles<void(peer_connected)>, handles<void(peer_lost)>>;

/// What a replica runs, for others to reach; by what it is in the owner record.
struct local_shards {
  std::map<std::string, node_shard_actor, std::less<>> nodes;
  std::map<std::string, workload_shard_actor, std::less<>> workloads;
  std::map<std::string, coordinator_actor, std::less<>> coordinators;
  queue_shard_actor queues; ///< null where another replica has it
  event_log_actor events;
};

/// The way to the other replicas: for whatever one of them owns there is an actor here with the
/// interface of the one there (docs/architecture.md#the-picture). It lives as long as the
/// connection and the shard it speaks for; whoever needs it still asks for another then. Used by
/// the replica's actor alone.
class peers {
public:
  peers() = default;
  peers(const peers&) = delete;
  peers& operator=(const peers&) = delete;
  virtual ~peers() = default;

  /// Connects to those who are there by now, and to nobody else; again where a connection ended.
  virtual void know(const membership& members, const std::string& self, ownership_pointer ground,
                    const peer_listener_actor& listener) = 0;

  /// What others can reach here from now on.
  virtual void serve(std::shared_ptr<const local_shards> here) = 0;

  // Null where there is no connection.
  virtual node_shard_actor node_shard(const std::string& replica, const std::string& shard) = 0;
  virtual workload_shard_actor workload_shard(const std::string& replica,
                                              const std::string& shard) = 0;
  virtual queue_shard_actor queue_shard(const std::string& replica) = 0;
  virtual coordinator_actor coordinator(const std::string& replica, const std::string& shard) = 0;
  /// Takes events to the replica's log.
  virtual event_follower_actor event_log(const std::string& replica) = 0;
};

} // namespace reprieve
