#include "tests/support/peer_generators.hpp"

#include "state/model/unchanged_error.hpp"
#include "tests/support/drawing.hpp"

#include <string>
#include <utility>
#include <vector>

// As in generators.cpp every struct is taken apart into all its fields.

namespace reprieve {

// -- what messages are made of --------------------------------------------------------------------

static void draw(pod_list& to) {
  for (auto left = any_length(); left > 0; --left) {
    pod p;
    draw(p);
    to.put(std::move(p));
  }
}

static void draw(node_record& to) {
  auto& [spec, pods, status] = to;
  draw_all(spec.edit(), pods, status);
}

static void draw(node_part& to) {
  auto& [node, placed, victims, forced] = to;
  draw_all(node, placed, victims, forced);
}

static void draw(workload_record& to) {
  auto& [spec, status, slots, deleting] = to;
  std::vector<slot_record> drawn;
  draw_all(spec.edit(), status, drawn, deleting);
  slots = std::move(drawn);
}

static void draw(object_kind& to) {
  draw_up_to(object_kind::pod, to);
}

static void draw(resolved_priorities& to) {
  auto& [whole, by_group] = to;
  draw_all(whole, by_group);
}

static void draw(admitted& to) {
  auto& [what, priorities] = to;
  draw_all(what, priorities);
}

static void draw(catalog& to) {
  auto& [classes, queues, groups] = to;
  draw_all(classes, queues, groups);
}

// -- evaluation -----------------------------------------------------------------------------------

static void draw(pod_cost& to) {
  auto& [priority, checkpointed, minimum_runtime] = to;
  draw_signed(priority);
  draw_signed(checkpointed);
  draw_signed(minimum_runtime);
}

static void draw(portion_part& to) {
  auto& [card, work] = to;
  auto& [priority, pods, earliest_start, minimum_runtime, group, evictable, daemon, opted_out,
         arriving] = card;
  auto& [gpu, safe_until] = work;
  draw_all(pods, group, evictable, daemon, opted_out, arriving);
  draw_signed(priority, gpu, safe_until);
  draw_signed(earliest_start);
  draw_signed(minimum_runtime);
}

void draw(portion_facts& to) {
  auto& [elsewhere, costs] = to;
  draw_all(elsewhere, costs);
}

static void draw(wanted_group& to) {
  auto& [name, pods, needed, node_selector, tolerations, topology_keys, required_node] = to;
  draw_all(name, pods, node_selector, tolerations, topology_keys, required_node);
  draw_signed(needed);
}

static void draw(preemptor& to) {
  auto& [workload, priority, may_preempt, gang, at_front, reserved_since, weaker_kin, groups] = to;
  draw_all(workload, may_preempt, gang, at_front, weaker_kin, groups);
  draw_signed(priority);
  draw_signed(reserved_since);
}

static void draw(plan_settings& to) {
  auto& [group, now, recent_preemptions, placing, explained, tells_failure, origins] = to;
  origins.find = nullptr; // shards know no workloads
  draw_all(group, recent_preemptions);
  tells_failure = true; // shards make no plans that could fail
  draw_signed(now);
  draw_up_to(placing_rule::plain, placing);
  draw_up_to(depth::all, explained);
}

static void draw(evaluation_request& to) {
  auto& [who, settings, most] = to;
  draw_all(who, settings);
  most = static_cast<std::size_t>(*rc::gen::nonNegative<std::int32_t>());
}

void draw(evaluate_nodes& to) {
  auto& [asked, trace] = to;
  draw_all(asked, trace);
}

static void draw(node_prospect& to) {
  auto& [node, bound] = to;
  draw_all(node, bound);
}

static void draw(capacity_curve::point& to) {
  auto& [level, seats] = to;
  draw_signed(level, seats);
}

static void draw(capacity_curve& to) {
  auto& [free, points] = to;
  draw_signed(free);
  draw(points);
}

static void draw(domain_curves& to) {
  auto& [domain, curves] = to;
  draw_all(domain, curves);
}

void draw(shard_evaluation& to) {
  auto& [nodes, listed, rest, domains] = to;
  draw_all(nodes, listed, rest, domains);
}

// -- nodes ----------------------------------------------------------------------------------------

static void draw_told(std::vector<apply_outcome>& to, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    to.push_back(static_cast<apply_outcome>(*rc::gen::inRange(0, 3)));
}

void draw(put_nodes& to) {
  auto& [nodes, told] = to;
  draw(nodes);
  draw_told(told, nodes.size());
}

void draw(remove_nodes& to) {
  auto& [names, force] = to;
  draw_all(names, force);
}

void draw(stop_pods& to) {
  auto& [pods, reason] = to;
  draw_all(pods, reason);
}

void draw(prepare<node_parts>& to) {
  auto& [decision, group, parts, at_once, trace] = to;
  draw_all(decision, group, parts, at_once, trace);
}

void draw(apply_parts<node_parts>& to) {
  auto& [decision, parts, at_once, trace, recovered] = to;
  draw_all(decision, parts, at_once, trace, recovered);
}

void draw(release_hold& to) {
  auto& [decision] = to;
  draw(decision);
}

void draw(start_pods& to) {
  auto& [decision, trace] = to;
  draw_all(decision, trace);
}

void draw(withdraw& to) {
  auto& [decision, told, reprieved, trace] = to;
  draw_all(decision, told, reprieved, trace);
}

void draw(use_group_limits& to) {
  auto& [force_delete_after, heartbeat_timeout, own_scheduler, lost_node_timeout] = to;
  draw(own_scheduler);
  draw_signed(lost_node_timeout);
  draw_signed(force_delete_after);
  draw_signed(heartbeat_timeout);
}

void draw(heartbeat_request& to) {
  auto& [nodes, last] = to;
  draw_all(nodes, last);
}

void draw(count_holds&) {}

void draw(confirm_ownership&) {}

void draw(drop_votes& to) {
  auto& [before, open] = to;
  draw_signed(before);
  std::vector<std::string> ids;
  draw(ids);
  open.insert(ids.begin(), ids.end());
}

static void draw(set_aside& to) {
  auto& [kind, name, group, key, why, since, hides_pods, beside] = to;
  draw_all(kind, name, group, key, why, since, hides_pods); // what is beside is not sent
}

void draw(node_delta& to) {
  auto& [shard, number, changed, removed, everything, of_bundle, aside] = to;
  draw_all(shard, number, changed, removed, everything, of_bundle, aside);
}

void draw(room_free& to) {
  auto& [decision, shard] = to;
  draw_all(decision, shard);
}

void draw(close_shard& to) {
  auto& [kind, names] = to;
  draw_all(kind, names);
}

static void draw(comparison& to) {
  auto& [key, field, number] = to;
  draw_all(key, number);
  field = *rc::gen::element(compared::created, compared::modified, compared::version);
}

static void draw(operation& to) {
  std::string key;
  std::string other;
  draw_all(key, other);
  if (*rc::gen::arbitrary<bool>())
    to = put{key, other, 0};
  else
    to = erase{{key, other}};
}

void draw(lent_result& to) {
  absl::Status refused;
  lent_batch batch;
  draw_all(refused, batch.writes.comparisons, batch.writes.operations);
  if (refused.ok())
    to = std::move(batch);
  else
    to = std::move(refused);
}

void draw(lent_end& to) {
  auto& [how, bundle, at] = to;
  draw_all(bundle, at);
  how = *rc::gen::element(lent_end::written, lent_end::refused, lent_end::unknown);
}

void draw(heartbeat_result& to) {
  absl::Status refused;
  std::vector<std::string> unknown;
  draw_all(refused, unknown);
  if (refused.ok())
    to = std::move(unknown);
  else
    to = std::move(refused);
}

// -- workloads ------------------------------------------------------------------------------------

void draw(put_workloads& to) {
  std::vector<admitted> objects;
  draw(objects);
  for (auto& one : objects)
    to.objects.push_back(std::make_shared<const admitted>(std::move(one)));
  draw(to.known_at);
  draw_told(to.told, to.objects.size());
}

void draw(remove_workloads& to) {
  auto& [kind, names] = to;
  draw_all(kind, names);
}

void draw(forget_workloads& to) {
  auto& [names] = to;
  draw(names);
}

static void draw(slot_ended& to) {
  auto& [workload, slot, incarnation, how, lost, node, forgotten] = to;
  draw_all(workload, slot, incarnation, how, lost, node, forgotten);
}

void draw(slots_ended& to) {
  auto& [ends] = to;
  draw(ends);
}

static void draw(workload_part& to) {
  auto& [workload, generation, placed, evicted, evicted_pods, loses_replicas] = to;
  draw_all(workload, placed, evicted, evicted_pods, loses_replicas);
  draw_signed(generation);
}

static void draw(budget_part& to) {
  auto& [budget, pods, over] = to;
  draw_all(budget, pods);
  draw_signed(over);
}

static void draw(workload_parts& to) {
  auto& [workloads, budgets, counts] = to;
  draw_all(workloads, budgets, counts);
}

void draw(prepare<workload_parts>& to) {
  draw_all(to.decision, to.resource_group, to.parts, to.trace);
}

void draw(apply_parts<workload_parts>& to) {
  draw_all(to.decision, to.parts, to.trace);
}

void draw(note_placements& to) {
  auto& [placements] = to;
  draw(placements);
}

void draw(slot_page_changes& to) {
  auto& [workload, changed, gone] = to;
  draw_all(workload, gone);
  slot_page page;
  draw_all(page.number, page.slots);
  changed = {std::make_shared<const slot_page>(std::move(page))};
}

void draw(workload_delta& to) {
  auto& [shard, number, changed, removed, budgets, removed_budgets, placements, removed_placements,
         everything, of_bundle, pages, aside] = to;
  draw_all(shard, number, changed, removed, budgets, removed_budgets, placements,
           removed_placements, everything, of_bundle, pages, aside);
}

// -- what runs the pods ---------------------------------------------------------------------------

void draw(pod_question& to) {
  draw_all(to.uid, to.node, to.phase);
  draw_signed(to.epoch);
}

void draw(watch_nodes& to) {
  draw_all(to.shard, to.nodes);
  draw_signed(to.epoch);
}

void draw(count_order& to) {
  pod p;
  draw_all(to.resource_group, to.uid, to.node_selector, to.tolerations, to.first_to_go, p);
  draw_signed(to.count);
  draw_signed(to.epoch);
  to.what = std::make_shared<const shared_pod>(std::move(p));
}

void draw(count_only& to) {
  draw_all(to.resource_group, to.deployments);
  draw_signed(to.epoch);
}

void draw(delete_order& to) {
  draw_all(to.uid, to.node, to.decision);
  draw_signed(to.epoch);
}

static void draw(pod_report& to) {
  draw_all(to.uid, to.node);
  draw_signed(to.at);
  draw_up_to(pod_report::what::came_back, to.happened);
  if (*rc::gen::arbitrary<bool>())
    return;
  pod p;
  draw(p);
  to.placed = std::make_shared<const shared_pod>(std::move(p));
}

void draw(pod_reports& to) {
  for (auto left = any_length(); left > 0; --left)
    draw(to.emplace_back());
}

// -- queues ---------------------------------------------------------------------------------------

void draw(put_catalog& to) {
  auto& [objects, unfinished, told] = to;
  draw_all(objects, unfinished);
  draw_told(told, objects.size());
}

void draw(remove_catalog& to) {
  auto& [kind, names] = to;
  draw_all(kind, names);
}

void draw(catalog_update& to) {
  auto& [known, unfinished, at, of_bundle, aside] = to;
  std::vector<std::string> names;
  draw_all(known, names, at, of_bundle, aside);
  unfinished.insert(names.begin(), names.end());
}

static void draw(quota_wish& to) {
  auto& [priority, since, each, count] = to;
  draw_all(priority, since);
  draw_signed(each);
  draw_signed(count);
}

static void draw(quota_need& to) {
  auto& [used, pending, blocked, wishes] = to;
  auto& [staying, leaving] = used;
  draw_signed(staying);
  draw_signed(leaving);
  draw_signed(pending);
  draw_signed(blocked);
  draw(wishes);
}

void draw(quota_report& to) {
  auto& [group, queues, capacity, nodes, epoch, standing] = to;
  draw_all(group, queues, epoch, standing);
  draw_signed(capacity);
  draw_signed(nodes);
}

static void draw_grants(by_name<resources>& to) {
  draw(to);
  for (auto& [queue, amounts] : to)
    draw_signed(amounts);
}

void draw(quota_grants& to) {
  auto& [queues, asked_down, epoch, number] = to;
  draw_grants(queues);
  draw_grants(asked_down);
  draw_all(epoch, number);
}

void draw(lower_grants& to) {
  auto& [queues, used] = to;
  draw_grants(queues);
  draw_grants(used);
}

void draw(read_queues&) {}

// -- coordinators, events, answers ----------------------------------------------------------------

void draw(read_group&) {
  // nop
}

void draw(read_group_result& to) {
  absl::Status refused;
  group_snapshot found;
  auto& [name, taken, nodes, workloads, budgets, recounted, status] = found;
  draw_all(refused, name, taken, nodes, workloads, budgets, recounted, status);
  if (refused.ok())
    to = std::move(found);
  else
    to = std::move(refused);
}

void draw(why_pending& to) {
  auto& [workload] = to;
  draw(workload);
}

void draw(event& to) {
  auto& [sequence, at, kind, name, type, message, decision, trace_id] = to;
  draw_all(at, kind, name, type, message, decision, trace_id);
  draw_signed(sequence);
}

void draw(read_events& to) {
  auto& [after, name] = to;
  draw(name);
  draw_signed(after);
}

void draw(absl::Status& to) {
  auto code = absl::StatusCode::kOk;
  draw_up_to(absl::StatusCode::kUnauthenticated, code);
  std::string message;
  draw(message);
  to = absl::Status{code, message + *rc::gen::elementOf<std::vector<std::string>>({"", "\xff"})};
  if (*rc::gen::arbitrary<bool>())
    to = mark_nothing_changed(std::move(to));
  if (*rc::gen::arbitrary<bool>())
    to.SetPayload("example.com/more", absl::Cord{message + '\0' + '\x80'});
}

} // namespace reprieve
