#pragma once

#include "actors/queue_shard/queue_shard.hpp"

namespace reprieve {

/// Something that the division of limits looks at has changed: it runs soon.
void stage_is_due(queue_shard_pointer self);

/// Shares the limits of queues out among the resource groups by what these told, makes that
/// durable, then hands out grants and asks for parts back (docs/architecture.md#the-picture). What
/// queues deserve within a group is the business of its own cycle.
void start_stage(queue_shard_pointer self);

/// Tells the group's coordinator what it may spend.
void tell_grants(queue_shard_pointer self, const std::string& resource_group);

} // namespace reprieve
