#pragma once

#include "actors/node_shard/node_writes.hpp"

namespace reprieve {

/// Says whether all parts of the decision can be had, and holds them on a yes
/// (docs/protocol.md#two-phase-commit).
absl::Status vote(node_shard_pointer self, const prepare<node_parts>& asked);

/// Their names.
std::vector<std::string> nodes_of(const node_parts& parts);

/// Whether what a decision places on a node can be bound now.
absl::Status has_room_now(const node_shard_state& state, const node_record& record,
                          const node_part& part, std::string_view decision);

/// The parts of others that are held on a node, or only those that will be placed at once.
std::vector<const node_part*> held_by_others(const node_shard_state& state, const std::string& node,
                                             std::string_view decision, bool only_at_once = false);

/// Finds out from the records which nodes the open decisions touch.
void index_decisions(node_shard_state& state);

} // namespace reprieve
