#pragma once

#include "actors/node_shard/node_writes.hpp"

#include <cstdint>
#include <string>
#include <string_view>

/// Nodes that are lost for so long that nobody counts on their pods any more
/// (docs/protocol.md#two-phase-commit): the pods' workloads go on without them, and what still runs
/// on a machine that comes back is stopped before anything new comes there.
namespace reprieve {

/// From when on all who are there know of pods that were given up: before, nobody is.
inline constexpr std::int32_t schema_with_lost_pods = 5;

/// Stands in the order to stop a pod that was given up, in place of a decision.
inline constexpr std::string_view given_up = "given-up";

/// Gives up the pods of nodes that are lost for longer than the group allows, and sees to those
/// that were given up; does so again when something of that is due.
void look_at_lost_nodes(node_shard_pointer self);

/// The reminder for that.
void look_at_lost_nodes(node_shard_pointer self, const look_at_lost& due);

/// Has the machine stop what was given up while it was away.
void stop_left_behind(node_shard_pointer self, const std::string& node);

/// Takes note that such a pod has ended, on a node that was deleted.
void forget_left_behind(node_shard_pointer self, const std::string& node, const std::string& uid);

} // namespace reprieve
