#pragma once

#include "actors/node_shard/node_writes.hpp"

#include <string>

namespace reprieve {

/// Adds nodes, or changes all but their pods. One that was deleted by force and is there again has
/// to be rid of what was left on it.
void put_all(node_shard_pointer self, const put_nodes& wanted, status_answer answer,
             std::string lent_for);

} // namespace reprieve
