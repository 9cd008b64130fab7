#pragma once

#include "actors/node_shard/node_writes.hpp"

namespace reprieve {

/// Takes nodes away on which there is nobody, and to which nobody comes: holds on them are taken
/// back first, and what was decided before the shard began is found in the store. All of them go,
/// or none. By force, pods on them are given up for lost first.
void remove(node_shard_pointer self, const remove_nodes& wanted, status_answer answer,
            std::string lent_for = {});

} // namespace reprieve
