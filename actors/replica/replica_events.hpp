#pragma once

#include "actors/replica/replica_actors.hpp"

#include <string>

/// What people are told of the shards and coordinators of a replica.
namespace reprieve {

/// It has ended by itself: people hear why, and it begins anew, after a while if it was not the
/// first time.
void tell_of_end(replica_pointer self, const std::string& shard, const caf::error& why);

/// What the shard starts from can't be read: all others go on, and it is tried again, as somebody
/// may put it right.
void tell_unreadable(replica_pointer self, const std::string& shard, const absl::Status& why);

/// What of the shard can't be read is told once: what became of it, and how it is put right.
void tell_aside(replica_pointer self, const shard_contents& from);

} // namespace reprieve
