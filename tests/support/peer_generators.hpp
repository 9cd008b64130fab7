#pragma once

#include "protocol/peers/messages/peer_messages.hpp"
#include "tests/support/generators.hpp"

/// Generators for the messages between replicas, as those of the model: they make all that a
/// message must carry, which is more than is ever sent. What one replica computes for another is
/// any number. Traces are drawn, too, although payloads do not carry them.
namespace reprieve {

void draw(put_nodes& to);
void draw(remove_nodes& to);
void draw(stop_pods& to);
void draw(portion_facts& to);
void draw(evaluate_nodes& to);
void draw(prepare<node_parts>& to);
void draw(apply_parts<node_parts>& to);
void draw(release_hold& to);
void draw(start_pods& to);
void draw(withdraw& to);
void draw(use_group_limits& to);
void draw(heartbeat_request& to);
void draw(count_holds& to);
void draw(confirm_ownership& to);
void draw(drop_votes& to);

void draw(close_shard& to);
void draw(lent_result& to);
void draw(lent_end& to);

void draw(node_delta& to);
void draw(room_free& to);
void draw(shard_evaluation& to);
void draw(heartbeat_result& to);

void draw(put_workloads& to);
void draw(remove_workloads& to);
void draw(forget_workloads& to);
void draw(slots_ended& to);
void draw(prepare<workload_parts>& to);
void draw(apply_parts<workload_parts>& to);
void draw(pod_question& to);
void draw(watch_nodes& to);
void draw(count_order& to);
void draw(count_only& to);
void draw(delete_order& to);
void draw(pod_reports& to);
void draw(note_placements& to);
void draw(workload_delta& to);

void draw(put_catalog& to);
void draw(remove_catalog& to);
void draw(catalog_update& to);
void draw(quota_report& to);
void draw(quota_grants& to);
void draw(lower_grants& to);
void draw(read_queues& to);

void draw(why_pending& to);
void draw(read_group& to);
void draw(read_group_result& to);
void draw(event& to);
void draw(read_events& to);

void draw(absl::Status& to);

} // namespace reprieve
