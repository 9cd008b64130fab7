#pragma once

#include "actors/node_shard.hpp"

namespace reprieve {

using node_shard_pointer = node_shard_actor::stateful_pointer<node_shard_state>;

/// Says whether all parts of the decision can be had, and holds them on a yes (DESIGN 4.2).
absl::Status vote(node_shard_pointer self, const prepare<node_parts>& asked);

} // namespace reprieve
