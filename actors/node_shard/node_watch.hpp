#pragma once

#include "actors/node_shard/node_shard.hpp"
#include "state/records/pod_list.hpp"

/// What a node shard has to do with a cluster that places pods by itself
/// (docs/policies.md#lifecycle).
namespace reprieve {

/// Has the cluster tell of the pods that it places on the shard's nodes, where it places any.
void watch_own_nodes(node_shard_pointer self);

/// Has a pod that terminates taken away.
void order_delete(node_shard_pointer self, const pod_list::pointer& forced);

/// Takes in what only a cluster tells that places pods by itself, or of a pod that it has placed.
/// Returns whether there is nothing more to the report.
bool apply_own_report(node_record& record, const pod_report& report);

} // namespace reprieve
