#pragma once

#include "actors/node_shard/node_writes.hpp"

/// What decisions do on the shard's nodes, once they are committed or given up.
namespace reprieve {

/// Nominates or binds what the decision places, and tells its victims.
void carry_out(node_shard_pointer self, const apply_parts<node_parts>& committed,
               const status_answer& answer);

/// Binds and starts what the decision has nominated.
void start_nominated(node_shard_pointer self, const start_pods& starting,
                     const status_answer& answer);

/// Takes back what the decision did, but for victims that were told.
void take_back_effects(node_shard_pointer self, const withdraw& dropped,
                       const status_answer& answer);

} // namespace reprieve
