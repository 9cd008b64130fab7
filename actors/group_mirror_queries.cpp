#include "actors/group_mirror.hpp"
#include "actors/planted_bug.hpp"
#include "preemption/engine.hpp"
#include "preemption/groundless.hpp"
#include "preemption/pending.hpp"
#include "state/lately.hpp"

#include <fmt/format.h>

#include <algorithm>

// What a cycle asks of the mirror.

namespace reprieve {

std::set<std::string> group_mirror::counts_on(const std::string& id,
                                              std::span<const node_part> parts) const {
  std::set<std::string> found;
  for (const auto& part : parts) {
    const auto on = nodes_.find(part.node);
    if (on == nodes_.end())
      continue;
    for (const auto& [other, theirs] : on->second.promised)
      if (other != id && theirs.given_up)
        found.insert(other);
    for (const auto& p : part.placed)
      if (const auto owner = workloads_.find(p.workload); owner != workloads_.end())
        for (const auto& other : owner->second.placed_by)
          if (const auto open = open_.find(other);
              other != id && open != open_.end() && open->second.given_up)
            found.insert(other);
    if (part.placed.empty() || !on->second.record)
      continue;
    const auto& record = *on->second.record;
    std::vector<const node_part*> others;
    std::vector<std::string> untold;
    for (const auto& [other, theirs] : on->second.promised) {
      if (other == id || theirs.given_up || shows(record, theirs.part, other))
        continue;
      others.push_back(&theirs.part);
      if (!theirs.part.victims.empty())
        untold.push_back(other);
    }
    if (!untold.empty() && !can_promise(record, others, part).ok())
      found.insert(untold.begin(), untold.end());
  }
  return found;
}

void group_mirror::starts(const std::string& id) {
  const auto found = open_.find(id);
  if (found == open_.end())
    return;
  starting_.insert(id);
  if (found->second.given_up) // too late
    set_given_up(found->second, false);
}

std::vector<held_decision> group_mirror::holds_below(std::int32_t priority) {
  view();
  std::vector<held_decision> holds;
  for (const auto& [id, d] : open_)
    if (!starting_.contains(id) && !d.given_up
        && std::ranges::any_of(
          d.placed, [&](const pod_list::pointer& p) { return p->what().priority < priority; }))
      holds.push_back(hold_of(d));
  return holds;
}

std::optional<held_decision> group_mirror::hold_of(const std::string& id) {
  refresh();
  const auto d = open_.find(id);
  if (d == open_.end() || d->second.given_up || starting_.contains(id))
    return std::nullopt;
  return hold_of(d->second);
}

/// What an open decision does in the view.
held_decision group_mirror::hold_of(const open_decision& d) const {
  held_decision held{d.id, {}, {}};
  const auto shown = [&](const std::string& node, const std::string& uid) {
    const auto on = nodes_.find(node);
    return on == nodes_.end() ? nullptr : on->second.shown.find(uid);
  };
  for (const auto& one : d.placed)
    if (const pod* p = shown(one->what().node, one->what().uid))
      held.nominated.push_back(*p);
  for (const auto& one : d.victims)
    for (const auto& each : one.pods)
      if (const pod* p = shown(each.node, each.uid); p != nullptr && p->evicted_by == d.id) {
        held.stops_others = held.stops_others || takes_room(p->phase);
        if (p->stop_told == no_time)
          held.untold.push_back(*p);
      }
  return held;
}

void group_mirror::reserve(const pod& waiting) {
  view_.put_pod(waiting);
  reserved_.push_back(waiting.uid);
}

void group_mirror::forget_reservations() {
  for (const auto& uid : std::exchange(reserved_, {})) {
    if (const auto p = view_.find_pod(uid); p != no_row)
      if (const auto on = nodes_.find(view_.node_name(view_.node_of(p))); on != nodes_.end())
        freed_.insert(&*on);
    view_.remove_pod(uid);
  }
}

waiting_line& group_mirror::line() {
  refresh();
  return line_;
}

std::vector<node_row> group_mirror::rows_of(const std::set<named_node*>& nodes) {
  std::vector<node_row> rows;
  for (const auto* one : nodes)
    if (const auto n = view_.find_node(one->first); n != no_row)
      rows.push_back(n);
  std::ranges::sort(rows);
  return rows;
}

std::vector<node_row> group_mirror::take_freed_nodes() {
  view_of_nodes();
  return rows_of(std::exchange(freed_, {}));
}

std::vector<node_row> group_mirror::take_nodes_with_arrivals() {
  view_of_nodes();
  return rows_of(std::exchange(with_arrivals_, {}));
}

const by_name<resources>& group_mirror::waiting_again() {
  refresh();
  return again_;
}

const by_name<resources>& group_mirror::held_back() {
  refresh();
  return held_back_;
}

std::set<std::string, std::less<>> group_mirror::take_lighter_queues() {
  refresh();
  return std::exchange(lighter_, {});
}

by_name<std::int32_t> group_mirror::take_arrivals() {
  refresh();
  return std::exchange(arrivals_, {});
}

std::vector<returning_work> group_mirror::leaving_in(std::string_view queue, time_point now) {
  refresh();
  std::vector<returning_work> found;
  if (const auto some = with_leaving_.find(queue); some != with_leaving_.end())
    for (const auto& [place, one] : some->second) {
      const auto& standing = one->second.now;
      if (comes_back(*standing.record, now))
        found.push_back({place, standing.used.leaving, standing.told, true});
    }
  return found;
}

bool group_mirror::is_any_leaving_before(std::string_view queue, const service_place& place) {
  refresh();
  const auto some = with_leaving_.find(queue);
  return some != with_leaving_.end() && some->second.begin()->first < place;
}

bool group_mirror::still_lacks(const preemptor& who) {
  refresh();
  const auto found = workloads_.find(who.workload);
  const auto& uid = who.groups.front().pods.front().uid;
  return found != workloads_.end()
         && std::ranges::any_of(found->second.now.lacking, [&](const auto& unit) {
              return unit->groups.front().pods.front().uid == uid;
            });
}

void group_mirror::leftovers::put(const std::string& name) {
  all.insert(name);
  fresh.insert(name);
}

void group_mirror::leftovers::erase(const std::string& name) {
  all.erase(name);
  fresh.erase(name);
}

std::vector<victim_pod> group_mirror::take_unwanted() {
  refresh();
  std::vector<victim_pod> found;
  for (const auto& name : std::exchange(with_unwanted_.fresh, {})) {
    const auto& more = workloads_.find(name)->second.now.unwanted;
    found.insert(found.end(), more.begin(), more.end());
  }
  return found;
}

std::vector<std::string> group_mirror::take_ended_workloads() {
  refresh();
  const auto fresh = std::exchange(ended_.fresh, {});
  return {fresh.begin(), fresh.end()};
}

void group_mirror::look_at_leftovers_again() {
  with_unwanted_.fresh = with_unwanted_.all;
  ended_.fresh = ended_.all;
}

const by_name<queue_totals>& group_mirror::usage() {
  refresh();
  return usage_;
}

const resources& group_mirror::capacity() {
  refresh();
  return capacity_;
}

std::vector<queue_pod> group_mirror::pods_in(const std::vector<std::string>& queues) {
  refresh();
  std::vector<queue_pod> found;
  for (const auto& queue : queues) {
    const auto workloads = by_queue_.find(queue);
    if (workloads == by_queue_.end())
      continue;
    for (const auto* one : workloads->second)
      for (const auto& [uid, node] : one->second.pods)
        if (const pod& p = *node->second.shown.find(uid); takes_room(p.phase)) {
          auto& listed =
            found.emplace_back(queue_pod_of(p, queue, one->second.record->spec->resource_group));
          if (planted == planted_bug::double_count && listed.leaving()) {
            listed.chosen = false;
            listed.phase = pod_phase::nominated; // nobody can be told twice
          }
        }
  }
  std::ranges::sort(found, {}, &queue_pod::uid);
  return found;
}

by_name<std::int32_t> group_mirror::preempted_lately(time_point now) const {
  by_name<std::int32_t> times;
  for (const auto* one : preempted_)
    if (const auto count = reprieve::preempted_lately(one->second.now.record->status, now);
        count > 0)
      times[one->first] = count;
  return times;
}

void group_mirror::guard_until(time_point when, const std::string& workload) {
  if (when > released_)
    guarded_.emplace(when, workload);
}

void group_mirror::guard_started(const pod& p) {
  const auto least = std::max(guards_.minimum_runtime, p.minimum_runtime);
  if (p.started != no_time && least > duration{0})
    guard_until(p.started + least, p.workload);
}

void group_mirror::guard_preempted(const workload_record& record) {
  if (guards_.preemptions_per_workload_per_hour)
    for (const auto& one : record.status.preempted)
      guard_until(one.at + counts_as_lately, record.spec->name);
}

void group_mirror::guard(const guards& limits) {
  refresh();
  if (guards_ == limits)
    return;
  guards_ = limits;
  guarded_.clear();
  for (const auto& [name, entry] : nodes_)
    for (const auto& p : entry.shown)
      guard_started(p);
  for (const auto* one : preempted_)
    guard_preempted(*one->second.now.record);
}

void group_mirror::release(time_point now) {
  released_ = std::max(released_, now);
  while (!guarded_.empty() && guarded_.begin()->first <= released_) {
    const auto of = workloads_.find(guarded_.begin()->second);
    guarded_.erase(guarded_.begin());
    if (of == workloads_.end())
      continue;
    for (const auto& [uid, node] : of->second.pods)
      freed_.insert(node);
    if (of->second.record)
      lighter_.insert(of->second.record->spec->queue);
  }
}

std::shared_ptr<const workload_record> group_mirror::find_workload(std::string_view name) const {
  const auto found = workloads_.find(name);
  return found == workloads_.end() ? nullptr : found->second.record;
}

std::vector<group_mirror::groundless_decision> group_mirror::groundless() {
  std::vector<groundless_decision> found;
  for (const auto& id : std::exchange(unjudged_, {}))
    if (const auto open = open_.find(id); open != open_.end() && !open->second.given_up)
      if (auto reason = why_groundless(open->second); !reason.empty())
        found.push_back({id, std::move(reason)});
  return found;
}

time_point group_mirror::look_for_stuck(time_point now, duration force_delete_after) {
  refresh();
  auto next = no_time;
  for (const auto& [grace_over, uid] : told_in_order_) {
    const auto limit = grace_over + 2 * force_delete_after;
    if (limit > now) {
      next = limit;
      break;
    }
    if (!stuck_.insert(uid).second)
      continue;
    auto* node = told_.find(uid)->second.first;
    node->second.costs_changed = true;
    mark(*node);
    for (const auto& [id, part] : node->second.promised)
      unjudged_.insert(id);
  }
  std::erase_if(stuck_, [&](const auto& uid) { return !told_.contains(uid); });
  return next;
}

std::string group_mirror::why_groundless(const kept_decision& d) const {
  std::vector<victim_pod> victims;
  for (const auto& one : d.victims)
    victims.insert(victims.end(), one.pods.begin(), one.pods.end());
  std::vector<const pod*> placed;
  for (const auto& p : d.placed)
    placed.push_back(&p->what());
  return reprieve::why_groundless(
    placed, victims,
    {.owner = [&](std::string_view name) { return find_workload(name).get(); },
     .takes_pods =
       [&](std::string_view node) {
         const auto on = nodes_.find(node);
         return on != nodes_.end() && on->second.record && takes_pods(*on->second.record);
       },
     .does_not_go = [&](std::string_view uid) { return stuck_.contains(uid); }});
}

} // namespace reprieve