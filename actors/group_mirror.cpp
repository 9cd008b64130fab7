#include "actors/group_mirror.hpp"

#include "preemption/pending.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace reprieve {

namespace {

/// Whether `follow` makes the same of pods by either record.
bool cost_the_same(const workload_record& a, const workload_record& b) {
  return a.status.by_group == b.status.by_group && a.spec.checkpoint.last == b.spec.checkpoint.last
         && a.spec.minimum_runtime == b.spec.minimum_runtime;
}

void take_from(resources& from, const resources& amounts) {
  for (const auto& [resource, amount] : amounts)
    from[resource] -= amount;
}

/// Shows a pod that does not go although it was told: its room is taken, and it is nobody's victim.
void make_immovable(pod& p) {
  p.phase = pod_phase::bound;
  p.evicted_by.clear();
  p.daemon = true;
}

/// As the queue stage counts it: beside what it asks for, it is one of `pods`.
void add_pod(resources& to, const pod& p) {
  add_to(to, p.requests);
  ++to[std::string(resource::pods)];
}

} // namespace

void group_mirror::put(std::shared_ptr<const node_record> record) {
  const auto& name = record->spec.name;
  stale_nodes_.insert(name);
  nodes_[name] = std::move(record);
}

void group_mirror::remove_node(const std::string& name) {
  stale_nodes_.insert(name);
  nodes_.erase(name);
}

void group_mirror::put(std::shared_ptr<const workload_record> record) {
  const auto& name = record->spec.name;
  stale_workloads_.insert(name);
  auto& known = workloads_[name];
  if (const auto pods = pods_.find(name);
      pods != pods_.end() && (!known || !cost_the_same(*known, *record)))
    for (const auto& [uid, node] : pods->second)
      stale_nodes_.insert(node);
  known = std::move(record);
}

void group_mirror::remove_workload(const std::string& name) {
  stale_workloads_.insert(name);
  workloads_.erase(name);
}

void group_mirror::put(const disruption_budget& budget) {
  view_.put_budget(budget);
}

void group_mirror::remove_budget(const std::string& name) {
  view_.remove_budget(name);
}

void group_mirror::promise(const std::string& id, std::span<const assignment> placements) {
  for (const auto& one : placements) {
    promised_[one.placed.node][id].placed.push_back(one.placed);
    stale_nodes_.insert(one.placed.node);
  }
}

void group_mirror::open(std::shared_ptr<const decision> d) {
  for (auto& part : parts_of(*d)) {
    stale_nodes_.insert(part.node);
    promised_[part.node][d->id] = std::move(part);
  }
  open_[d->id] = std::move(d);
}

void group_mirror::close(const std::string& id) {
  const auto found = open_.find(id);
  if (found == open_.end())
    return;
  for (const auto& part : parts_of(*found->second)) {
    stale_nodes_.insert(part.node);
    const auto promises = promised_.find(part.node);
    promises->second.erase(id);
    if (promises->second.empty())
      promised_.erase(promises);
  }
  open_.erase(found);
}

/// Brings one node in the view to what its record says and the open decisions will make of it.
void group_mirror::refresh_node(const std::string& name) {
  const auto known = nodes_.find(name);
  node_record wanted;
  if (known != nodes_.end()) {
    wanted = *known->second;
    if (const auto promises = promised_.find(name); promises != promised_.end())
      for (const auto& [id, part] : promises->second)
        apply(wanted, part, id);
    for (auto& p : wanted.pods)
      if (const auto owner = workloads_.find(p.workload); owner != workloads_.end())
        follow(p, owner->second->spec, owner->second->status);
  }
  auto& shown = shown_[name];
  for (const auto& [resource, amount] : shown.spec.capacity)
    capacity_[resource] -= amount;
  add_to(capacity_, wanted.spec.capacity);
  for (const auto& old : shown.pods) {
    told_.erase(old.uid);
    pods_[old.workload].erase(old.uid);
    stale_workloads_.insert(old.workload);
    if (find_pod(wanted, old.uid) == nullptr)
      view_.remove_pod(old.uid);
  }
  if (known == nodes_.end()) {
    view_.remove_node(name);
    shown_.erase(name);
    return;
  }
  view_.put_node(wanted.spec);
  for (auto& p : wanted.pods) {
    if (p.stop_told != no_time)
      told_[p.uid] = {name, p.stop_told + p.checkpoint_time + p.grace_period};
    if (stuck_.contains(p.uid))
      make_immovable(p);
    view_.put_pod(p);
    pods_[p.workload].emplace(p.uid, name);
    stale_workloads_.insert(p.workload);
  }
  shown = std::move(wanted);
}

void group_mirror::refresh_workload(const std::string& name) {
  if (const auto old = standing_.find(name); old != standing_.end()) {
    auto& used = usage_[old->second.queue];
    take_from(used.staying, old->second.used.staying);
    take_from(used.leaving, old->second.used.leaving);
    standing_.erase(old);
  }
  const auto record = find_workload(name);
  const auto& pods = pods_[name];
  standing now;
  std::set<std::pair<std::string_view, std::int32_t>> unsettled; // replicas of groups
  for (const auto& [uid, node] : pods) {
    const pod& p = *find_pod(shown_.find(node)->second, uid);
    const bool leaves = is_leaving(p.phase) || !p.evicted_by.empty();
    if (leaves || p.phase == pod_phase::nominated)
      unsettled.emplace(p.group, p.replica);
    if (!takes_room(p.phase))
      continue;
    add_pod(leaves ? now.used.leaving : now.used.staying, p);
    if (!p.evicted_by.empty())
      continue;
    if (p.phase != pod_phase::nominated && p.stop_told == no_time
        && (!record || !wants(*record, p)))
      now.unwanted.push_back({uid, node});
  }
  if (record) {
    now.lacking = lacking_units(
      *record, [&](const pod& p) { return pods.contains(p.uid); },
      [&](const pod& p) { return &shown_.find(pods.at(p.uid))->second.spec; });
    // More of a gang comes when those that it needs are there to stay: the decision that places
    // them may be given up, and nobody joins those who go.
    std::erase_if(now.lacking, [&](const preemptor& unit) {
      const auto& more = unit.groups.front().pods.front();
      return !unit.gang && unsettled.contains({more.group, more.replica})
             && record->spec.groups[*group_position(record->spec, more.group)].is_gang();
    });
    now.ended = record->deleting && pods.empty();
    now.queue = record->spec.queue;
    add_to(usage_[now.queue].staying, now.used.staying);
    add_to(usage_[now.queue].leaving, now.used.leaving);
  } else {
    now.used = {};
  }
  if (pods.empty())
    pods_.erase(name);
  standing_.emplace(name, std::move(now));
}

void group_mirror::refresh() {
  for (const auto& name : std::exchange(stale_nodes_, {}))
    refresh_node(name);
  for (const auto& name : std::exchange(stale_workloads_, {}))
    refresh_workload(name);
}

const cluster_view& group_mirror::view() {
  refresh();
  view_.settle();
  return view_;
}

std::vector<group_mirror::pending_unit> group_mirror::pending() {
  refresh();
  std::vector<std::shared_ptr<const workload_record>> order;
  for (const auto& [name, at] : standing_)
    if (!at.lacking.empty())
      order.push_back(find_workload(name));
  std::sort(order.begin(), order.end(),
            [](const auto& a, const auto& b) { return served_before(*a, *b); });
  std::vector<pending_unit> found;
  for (const auto& record : order)
    for (const auto& unit : standing_.find(record->spec.name)->second.lacking)
      found.push_back({record, unit});
  // A pod group may have another priority than its workload.
  std::stable_sort(found.begin(), found.end(), [](const pending_unit& a, const pending_unit& b) {
    return a.who.priority > b.who.priority;
  });
  return found;
}

bool group_mirror::still_lacks(const preemptor& who) {
  refresh();
  const auto at = standing_.find(who.workload);
  const auto& uid = who.groups.front().pods.front().uid;
  return at != standing_.end()
         && std::ranges::any_of(at->second.lacking, [&](const preemptor& unit) {
              return unit.groups.front().pods.front().uid == uid;
            });
}

std::vector<victim_pod> group_mirror::unwanted() {
  refresh();
  std::vector<victim_pod> found;
  for (const auto& [name, at] : standing_)
    found.insert(found.end(), at.unwanted.begin(), at.unwanted.end());
  return found;
}

std::vector<std::string> group_mirror::ended_workloads() {
  refresh();
  std::vector<std::string> ended;
  for (const auto& [name, at] : standing_)
    if (at.ended)
      ended.push_back(name);
  return ended;
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
  for (const auto& [workload, nodes] : pods_) {
    const auto record = find_workload(workload);
    if (!record || std::ranges::find(queues, record->spec.queue) == queues.end())
      continue;
    for (const auto& [uid, node] : nodes)
      if (const pod& p = *find_pod(shown_.find(node)->second, uid); takes_room(p.phase))
        found.push_back(queue_pod_of(p, record->spec.queue, record->spec.resource_group));
  }
  return found;
}

bool group_mirror::stays(const victim& one) {
  refresh();
  const auto pods = pods_.find(one.portion.workload);
  if (pods == pods_.end())
    return false;
  std::size_t found = 0;
  for (const auto& [uid, node] : pods->second) {
    const pod& p = *find_pod(shown_.find(node)->second, uid);
    if (portion_of(p) != one.portion || !takes_room(p.phase) || is_leaving(p.phase)
        || !p.evicted_by.empty())
      continue;
    if (p.phase == pod_phase::nominated
        || std::ranges::find(one.pods, uid, &victim_pod::uid) == one.pods.end())
      return false;
    ++found;
  }
  return found == one.pods.size();
}

usage_by_queue group_mirror::usage_of(const std::vector<victim>& victims) {
  usage_by_queue taken;
  for (const auto& one : victims)
    for (const auto& [uid, node] : one.pods) {
      const auto on = shown_.find(node);
      const pod* p = on == shown_.end() ? nullptr : find_pod(on->second, uid);
      const auto record = p == nullptr ? nullptr : find_workload(p->workload);
      if (record && p->evicted_by.empty() && !is_leaving(p->phase))
        add_pod(taken[record->spec.queue], *p);
    }
  return taken;
}

std::shared_ptr<const workload_record> group_mirror::find_workload(std::string_view name) const {
  const auto found = workloads_.find(name);
  return found == workloads_.end() ? nullptr : found->second;
}

time_point group_mirror::look_for_stuck(time_point now, duration force_delete_after) {
  refresh();
  auto next = no_time;
  for (const auto& [uid, one] : told_) {
    const auto& [node, grace_over] = one;
    // Killed after the first of these times; gone, however slow the machine, within the second.
    const auto limit = grace_over + 2 * force_delete_after;
    if (limit > now)
      next = next == no_time ? limit : std::min(next, limit);
    else if (stuck_.insert(uid).second)
      stale_nodes_.insert(node);
  }
  std::erase_if(stuck_, [&](const auto& uid) { return !told_.contains(uid); });
  return next;
}

std::string group_mirror::why_groundless(const decision& d) const {
  for (const auto& one : d.victims)
    for (const auto& p : one.pods)
      if (stuck_.contains(p.uid))
        return fmt::format("victim {} did not leave node {} within its limit", p.uid, p.node);
  for (const auto& one : d.assignments) {
    const auto& p = one.placed;
    const auto owner = find_workload(p.workload);
    if (!owner || !wants(*owner, p))
      return fmt::format("pod {} is not wanted any more", p.name);
    const auto on = nodes_.find(p.node);
    if (on == nodes_.end() || !on->second->spec.ready || !on->second->spec.schedulable)
      return fmt::format("node {} takes no pods any more", p.node);
  }
  return {};
}

} // namespace reprieve
