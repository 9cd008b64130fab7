#pragma once

#include "actors/node_shard/node_writes.hpp"

namespace reprieve {

/// Takes heartbeats in. Only what must outlive a restart is written: that a node is watched, with
/// its first heartbeat, and that one that was lost is back; then the answer waits for that.
caf::result<heartbeat_result> hear(node_shard_pointer self, const heartbeat_request& alive);

/// Writes down who has been silent for too long.
void find_silent(node_shard_pointer self, const look_at_silence& due);

/// From now on nodes may be silent for so long, 0 for ever.
void use_heartbeat_timeout(node_shard_pointer self, duration timeout);

} // namespace reprieve
