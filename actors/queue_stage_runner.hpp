#pragma once

#include "actors/queue_shard.hpp"

namespace reprieve {

using queue_shard_pointer = queue_shard_actor::stateful_pointer<queue_shard_state>;

/// Something that the stage looks at has changed: it runs soon.
void stage_is_due(queue_shard_pointer self);

/// Runs the queue stage (DESIGN 3.4) on what the groups told, makes its outcome durable, then hands
/// out grants and asks for pods back. Waits for groups that have not told yet.
void start_stage(queue_shard_pointer self);

/// Tells the group's coordinator what it may spend.
void tell_grants(queue_shard_pointer self, const std::string& resource_group);

} // namespace reprieve
