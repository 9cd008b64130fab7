#pragma once

#include "actors/node_shard.hpp"

namespace reprieve {

// The votes of a node shard: what it has said yes to and holds until the decision comes back.

using node_shard_pointer = node_shard_actor::stateful_pointer<node_shard_state>;

/// Says whether all parts of the decision can be had, and holds them on a yes (DESIGN 4.2).
absl::Status vote(node_shard_pointer self, const prepare<node_part>& asked);

/// The decision has given up before its commit.
void release(node_shard_pointer self, const std::string& decision);

/// Writes the abort of decisions that took too long, and lets their holds go when it is there.
void take_back_due_holds(node_shard_pointer self);

} // namespace reprieve
