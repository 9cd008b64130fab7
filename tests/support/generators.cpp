#include "tests/support/generators.hpp"

#include "tests/support/drawing.hpp"

#include <variant>
#include <vector>

// Every struct is taken apart into all its fields, so that a field that is added to the model does
// not compile here until it is drawn too.

namespace reprieve {

void draw(taint_effect& to) {
  draw_up_to(taint_effect::no_execute, to);
}

void draw(taint& to) {
  auto& [key, value, effect] = to;
  draw_all(key, value, effect);
}

void draw(toleration& to) {
  auto& [key, any_value, value, effect] = to;
  draw_all(key, any_value, value, effect);
}

void draw(node& to) {
  auto& [name, group, labels, taints, capacity, schedulable, ready] = to;
  draw_all(name, group, labels, taints, capacity, schedulable, ready);
}

void draw(node_status& to) {
  auto& [watched, lost, lost_since, pods_lost, left_behind, most_pods] = to;
  draw_all(watched, lost, lost_since, pods_lost, left_behind, most_pods);
}

void draw(preemption_policy& to) {
  draw_up_to(preemption_policy::never, to);
}

void draw(priority_class& to) {
  auto& [name, value, global_default, policy] = to;
  draw_all(name, global_default, policy);
  draw_signed(value);
}

void draw(group_policy& to) {
  draw_up_to(group_policy::sessions, to);
}

void draw(preemption_order& to) {
  draw_up_to(preemption_order::newest, to);
}

void draw(victim_strategy& to) {
  draw_up_to(victim_strategy::multiple, to);
}

void draw(minimise& to) {
  draw_up_to(minimise::work, to);
}

void draw(guards& to) {
  auto& [minimum_runtime, veto, victims, preemptions, search_budget] = to;
  draw_all(minimum_runtime, veto, victims, preemptions, search_budget);
}

void draw(required_node_settings& to) {
  auto& [delay, strategies, deviation, max_victims] = to;
  draw_all(delay, strategies, deviation, max_victims);
  if (strategies.empty()) // stands for the default in a message, and means nothing in the model
    draw(strategies.emplace_back());
}

void draw(resource_group& to) {
  auto& [name, policy, preemptible, order, minimised, required_node, force, silence, lost, gap,
         divisible, limits] = to;
  draw_all(name, policy, order, minimised, required_node, force, silence, lost, gap, divisible,
           limits);
  draw_signed(preemptible);
}

void draw(queue_ceilings& to) {
  auto& [priority, preemption_priority, classes, minimum_runtime, grace_period, checkpoint_time,
         protected_pods, required_nodes, daemons, pods_per_workload, pods, annotation_bytes] = to;
  draw_all(classes, minimum_runtime, grace_period, checkpoint_time, protected_pods, required_nodes,
           daemons, pods_per_workload, pods, annotation_bytes);
  draw_signed(priority);
  draw_signed(preemption_priority);
}

void draw(queue& to) {
  auto& [name, parent, weight, guaranteed, limit, cap_by_demand, ceilings] = to;
  draw_all(name, parent, weight, guaranteed, limit, cap_by_demand, ceilings);
}

void draw(queue_status& to) {
  auto& [deserved, allocated, used, preempting] = to;
  draw_all(deserved, allocated, used, preempting);
}

void draw(workload_kind& to) {
  draw_up_to(workload_kind::deployment, to);
}

void draw(disruption_mode& to) {
  draw_up_to(disruption_mode::pod_group, to);
}

void draw(resume_policy& to) {
  draw_up_to(resume_policy::never, to);
}

void draw(pod_template& to) {
  auto& [requests, labels, annotations, node_selector, tolerations, priority] = to;
  draw_all(requests, labels, annotations, node_selector, tolerations);
  draw_signed(priority);
}

void draw(pod_group& to) {
  auto& [name, pods, count, replicas, min_count, disruption, topology_keys, required_node, klass,
         priority, protected_members] = to;
  draw_all(name, pods, count, replicas, min_count, disruption, topology_keys, required_node, klass,
           protected_members);
  draw_signed(priority);
}

void draw(resume_settings& to) {
  auto& [policy, backoff, limit] = to;
  draw_all(policy, backoff, limit);
}

void draw(checkpoint_settings& to) {
  auto& [supported, last, time_needed] = to;
  draw_all(supported, last, time_needed);
}

void draw(workload& to) {
  auto& [name, labels, group, queue, kind, autoscaled, klass, priority, preemption_class,
         preemption_priority, groups, resume, checkpoint, minimum_runtime, grace_period] = to;
  draw_all(name, labels, group, queue, kind, autoscaled, klass, preemption_class, groups, resume,
           checkpoint, minimum_runtime, grace_period);
  draw_signed(priority);
  draw_signed(preemption_priority);
}

void draw(condition& to) {
  auto& [type, status, reason, message, since] = to;
  draw_all(type, status, reason, message, since);
}

void draw(resolved_priority& to) {
  auto& [priority, preemption_priority, may_preempt] = to;
  draw(may_preempt);
  draw_signed(priority, preemption_priority);
}

void draw(past_preemption& to) {
  auto& [decision, at] = to;
  draw_all(decision, at);
}

void draw(workload_status& to) {
  auto& [uid, generation, submitted, resolved, by_group, attempts, resume_after, preempted,
         conditions] = to;
  draw_all(uid, generation, submitted, resolved, by_group, attempts, resume_after, preempted,
           conditions);
}

void draw(pod_phase& to) {
  draw_up_to(pod_phase::gone, to);
}

void draw(portion_id& to) {
  auto& [workload, group, replica, index] = to;
  draw_all(workload, group, replica, index);
  if (*rc::gen::arbitrary<bool>())
    index = -1;
}

void draw(pod& to) {
  auto& [uid, name, workload, group, replica, index, incarnation, node, phase, requests, labels,
         annotations, disruption, priority, own_priority, daemon, opted_out, protected_member,
         owner, created, started, checkpointed, stop_told, grace_period, minimum_runtime,
         checkpoint_time, placed_by, evicted_by] = to;
  draw_all(uid, name, workload, group, replica, index, incarnation, node, phase, requests, labels,
           annotations, disruption, daemon, opted_out, protected_member, owner, created, started,
           checkpointed, stop_told, grace_period, minimum_runtime, checkpoint_time, placed_by,
           evicted_by);
  draw_signed(priority);
  draw_signed(own_priority);
}

void draw(pod_slot& to) {
  auto& [group, replica, index] = to;
  draw_all(group, replica, index);
}

void draw(slot_state& to) {
  draw_up_to(slot_state::failed, to);
}

void draw(slot_record& to) {
  auto& [slot, incarnation, state, decision] = to;
  draw_all(slot, incarnation, state, decision);
}

void draw(workload_course& to) {
  draw(static_cast<workload_status&>(to));
  draw_all(to.slots, to.deleting);
}

void draw(nominated_room& to) {
  auto& [node, victims] = to;
  draw_all(node, victims);
}

void draw(placement& to) {
  auto& [name, deployment, cluster, committed, assigned, score, preempted, nominations] = to;
  draw_all(name, deployment, cluster, committed, assigned, preempted, nominations);
  draw_signed(score);
}

void draw(disruption_budget& to) {
  auto& [name, group, match_labels, min_available, max_unavailable] = to;
  draw_all(name, group, match_labels, min_available, max_unavailable);
}

void draw(object& to) {
  static const std::vector<object> kinds{
    node{},     queue{},     priority_class{},    resource_group{},
    workload{}, placement{}, disruption_budget{}, pod{},
  };
  to = kinds[*rc::gen::inRange<std::size_t>(0, kinds.size())];
  std::visit([](auto& held) { draw(held); }, to);
}

void draw(decision_phase& to) {
  draw_up_to(decision_phase::aborted, to);
}

void draw(assignment& to) {
  auto& [placed] = to;
  draw(placed);
}

void draw(victim_pod& to) {
  auto& [uid, node] = to;
  draw_all(uid, node);
}

void draw(victim& to) {
  auto& [portion, priority, violates_budget, work_lost, pods, reason, counted, expected] = to;
  draw_all(portion, violates_budget, work_lost, pods, reason, counted, expected);
  draw_signed(priority);
}

void draw(count_change& to) {
  auto& [placement, deployment, cluster, from, count, preempted, nominations] = to;
  draw_all(placement, deployment, cluster, from, count, preempted, nominations);
}

void draw(spared& to) {
  auto& [portion, priority, reason] = to;
  draw_all(portion, reason);
  draw_signed(priority);
}

void draw(score& to) {
  auto& [violations, highest_priority, cascades, priority_sum, pods, most_important, work_lost,
         earliest] = to;
  draw_all(cascades, most_important.group, most_important.start, earliest);
  draw_signed(violations, highest_priority, priority_sum, pods, most_important.pods, work_lost);
}

void draw(domain_outcome& to) {
  auto& [domain, feasible, chosen, reason, short_resource, short_by, threshold, victims, scored] =
    to;
  draw_all(domain, feasible, chosen, reason, short_resource, short_by, victims, scored);
  draw_signed(threshold);
}

void draw(reasoning& to) {
  auto& [summary, threshold, domains, reprieved, passed_over, budget_reached, proved_least,
         fewest_pods] = to;
  draw_all(summary, domains, reprieved, passed_over, budget_reached, proved_least);
  draw_signed(threshold);
  draw_signed(fewest_pods);
}

void draw(trace_context& to) {
  auto& [traceparent, tracestate] = to;
  draw_all(traceparent, tracestate);
}

void draw(decision& to) {
  auto& [id, group, workloads, queue, priority, policy, phase, assignments, victims, counts,
         force_deletes, why, scored, decided, committed, ended, abort_reason, victims_told, at_once,
         trace] = to;
  draw_all(id, group, workloads, queue, policy, phase, assignments, victims, counts, force_deletes,
           why, scored, decided, committed, ended, abort_reason, victims_told, at_once, trace);
  draw_signed(priority);
}

void draw(standing_decision& to) {
  auto& [id, phase, told, workloads, places, victims] = to;
  draw_all(id, phase, told, workloads, places, victims);
}

void draw(node_reservation& to) {
  auto& [uid, node, since] = to;
  draw_all(uid, node, since);
}

void draw(group_status& to) {
  auto& [grants, queues, decisions, reservations, counting] = to;
  if (*rc::gen::arbitrary<bool>())
    draw(grants.emplace());
  if (*rc::gen::arbitrary<bool>())
    draw(queues.emplace());
  draw_all(decisions, reservations, counting);
}

} // namespace reprieve
