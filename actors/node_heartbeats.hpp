#pragma once

#include "actors/node_shard.hpp"

#include <functional>
#include <map>
#include <memory>
#include <string>

namespace reprieve {

/// How a shard writes new forms of its records down, and goes on when they are durable.
using record_writer =
  std::function<void(node_shard_actor::stateful_pointer<node_shard_state> self,
                     std::map<std::string, std::shared_ptr<node_record>, std::less<>> changes,
                     std::function<void()> then)>;

/// Takes heartbeats in. Only what must outlive a restart is written: that a node is watched, with
/// its first heartbeat, and that one that was lost is back; then the answer waits for that.
caf::result<heartbeat_result> hear(node_shard_actor::stateful_pointer<node_shard_state> self,
                                   const heartbeat_request& alive, const record_writer& write);

/// Writes down who has been silent for too long.
void find_silent(node_shard_actor::stateful_pointer<node_shard_state> self,
                 const look_at_silence& due, const record_writer& write);

/// From now on nodes may be silent for so long, 0 for ever.
void use_heartbeat_timeout(node_shard_actor::stateful_pointer<node_shard_state> self,
                           duration timeout, const record_writer& write);

} // namespace reprieve
