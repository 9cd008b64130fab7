#pragma once

#include "actors/coordinator/coordinator.hpp"
#include "actors/interfaces/event_log.hpp"
#include "actors/node_shard/node_shard.hpp"
#include "actors/queue_shard/queue_shard.hpp"
#include "actors/workload_shard/workload_shard.hpp"

#include <absl/status/statusor.h>

#include <string>
#include <string_view>

/// The messages that actors of different replicas send each other, as bytes: the payloads of
/// `PeerEnvelope` in reprieve/v1/peer.proto. There are
///   to node shards:       put_nodes, remove_nodes, stop_pods, portion_facts, evaluate_nodes,
///                         prepare<node_parts>, apply_parts<node_parts>, release_hold, start_pods,
///                         withdraw, drop_votes, use_group_limits, heartbeat_request, count_holds;
///   from node shards:     node_delta, room_free, shard_evaluation, heartbeat_result;
///   to workload shards:   put_workloads, remove_workloads, forget_workloads, slots_ended,
///                         prepare<workload_parts>, apply_parts<workload_parts>,
///                         note_placements, and what node shards get of release_hold, withdraw,
///                         count_holds;
///   from workload shards: workload_delta;
///   the queue shard's:    put_catalog, remove_catalog, catalog_update, quota_report, quota_grants,
///                         lower_grants, read_queues,
///                         by_name<queue_status>;
///   the coordinator's:    why_pending, answered by std::string; read_group, read_group_result;
///   the event log's:      event, event_list, read_events;
///   of what runs pods:    start_order, pod_question, stop_order, watch_nodes and delete_order
///                         (without whom to report to), count_order, count_only, pod_reports;
///   to any shard:         lend of its puts and removes, answered by lent_result; lent_end;
///   answers of several:   absl::Status, std::size_t.
/// A message's `trace` travels in the envelope: it is not encoded, and empty in what was decoded.
namespace reprieve {

/// The name of a message in an envelope.
template <class Message>
std::string_view peer_kind();

template <class Message>
std::string encode_peer(const Message& m);

/// The message in the bytes, or a sentence on what can't be read. Of an `absl::Status` the outer
/// one says whether it could be read, the inner one is what was sent.
template <class Message>
absl::StatusOr<Message> decode_peer(std::string_view bytes);

} // namespace reprieve
