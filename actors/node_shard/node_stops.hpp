#pragma once

#include "actors/node_shard/node_writes.hpp"

namespace reprieve {

/// Orders the pod to stop, with the whole schedule, and remembers when its grace period is over.
void order_stop(node_shard_pointer self, const pod_list::pointer& told);

/// Stops pods without a decision, because their workload was deleted.
void stop_undecided(node_shard_pointer self, const stop_pods& wanted, status_answer answer);

/// A mistake on purpose: the decision is not committed.
void tell_too_early(node_shard_pointer self, const prepare<node_parts>& asked);

/// The pods whose grace period is over by now, as they are to be written down: force-deleting.
record_changes force_due(node_shard_pointer self);

} // namespace reprieve
