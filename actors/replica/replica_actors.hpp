#pragma once

#include "actors/replica/replica.hpp"

#include <memory>
#include <string>

/// How a replica starts and ends the actors of what it owns.
namespace reprieve {

/// Before what the store did not answer is asked for again.
inline constexpr std::chrono::milliseconds store_retry_delay{200};

/// The resource group of a shard or coordinator, by what it is called in the owner record.
std::string group_of(std::string_view shard);

bool is_owned(const replica_state& state, const std::string& shard);

/// Has someone read what the shard or coordinator starts from.
void load(replica_pointer self, const std::string& shard);

/// Starts it from what was read. A coordinator waits until all shards of its group are there, and
/// a node shard until the group's settings are known.
void start(replica_pointer self, const std::string& shard, std::shared_ptr<shard_contents> from);
void start_waiting(replica_pointer self);

/// Ends it; false where it does not run.
bool stop(replica_pointer self, const std::string& shard);
void end_all(replica_pointer self);
/// Ends the coordinators of groups whose shards are not those any more that they were started with.
/// They begin anew in another epoch.
void end_outdated_coordinators(replica_pointer self);
/// It has ended.
void forget(replica_state& state, const caf::actor_addr& who);

// -- what others own ------------------------------------------------------------------------------

/// The queue shard, here or elsewhere; null where nobody is known to have it.
queue_shard_actor queues_of(const replica_state& state);

/// The queue shard is another one by now.
void meet_queue_shard(replica_pointer self, const queue_shard_actor& queues);

/// Finds somebody to speak for whatever others own, and ends who speaks for what they don't.
void meet_peers(replica_pointer self);
void meet_peers_later(replica_pointer self);
void forget_peers(replica_pointer self);
/// Whether the one that ended spoke for somebody.
bool forget_proxy(replica_pointer self, const caf::actor_addr& who);
/// Shards of a group that run here meet its others, whenever one of them is another.
void introduce_all(replica_pointer self);

/// Tells the followers who serves what, if that has changed.
void publish_directory(replica_pointer self);

} // namespace reprieve
