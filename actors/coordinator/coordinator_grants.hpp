#pragma once

#include "actors/coordinator/scheduling_cycle.hpp"

/// What the group may use of the limits of queues, as the queue shard grants it.
namespace reprieve {

/// Whether a limit came by now of which the group's part is about to be told. Until then the queue
/// would have nothing of what it deserves, and others would be given it for a moment.
bool awaits_grants(coordinator_pointer self);

/// Whether the group does with less by now and was not told yet that it is written down, or is
/// about to. Should it get lost, what others would be given meanwhile had to be taken from them
/// again.
bool awaits_lowering(coordinator_pointer self);

/// The queues are others by now: what the group may use of them is about to be told.
void expect_grants(coordinator_pointer self, const by_name<queue>& now);

/// Goes by what the group may use from now on.
void use_grants(coordinator_pointer self, quota_grants& told);

/// Keeps to less from now on, and answers with what it still takes: what its pods use goes when
/// they have gone, those that leave too, and those that stay leave because of that.
quota_grants lower(coordinator_pointer self, const lower_grants& asked);

} // namespace reprieve
