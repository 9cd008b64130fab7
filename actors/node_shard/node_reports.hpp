#pragma once

#include "actors/node_shard/node_writes.hpp"

namespace reprieve {

/// Orders the pod to start on its node.
void order_start(node_shard_pointer self, const pod_list::pointer& p);

/// Likewise all of the node's that have not started.
void start_bound(node_shard_pointer self, const std::string& node);

/// Asks how the pod fares, which was started before.
void ask_about(node_shard_pointer self, const pod_list::pointer& p);

/// Takes in how pods fare; a report about a pod that is not here any more changes nothing.
void receive_reports(node_shard_pointer self, const pod_reports& reports);

/// Asks how pods fare that run, some at a time: there are many, and whoever asks for something
/// meanwhile need not wait for them, nor the cluster take them at once.
void ask_about_some(node_shard_pointer self);

/// After a start: every order that may have been lost is given again; the cluster knows which it
/// has carried out. Who was started before is only asked about.
void repeat_orders(node_shard_pointer self);

/// Likewise for one node whose machine is there again.
void repeat_orders(node_shard_pointer self, const std::string& node);

/// Has the ends told again that a workload shard has not taken in.
void repeat_ends(node_shard_pointer self);

} // namespace reprieve
