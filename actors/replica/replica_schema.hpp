#pragma once

#include "actors/replica/replica_actors.hpp"

/// How a replica begins: with the schema of its store, or by making one.
namespace reprieve {

/// It can't go on: whoever waits for it to serve hears why, or whoever runs it.
void fail(replica_pointer self, const absl::Status& why);

/// Becomes a member when it has read the schema. A store that is in use and has none, or one that
/// is too new, is nobody's to work on.
void check_schema(replica_pointer self);

} // namespace reprieve
