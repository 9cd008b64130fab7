#include "preemption/snapshot/snapshot.hpp"

#include "preemption/policies/lifecycle/lifecycle_cycle.hpp"
#include "preemption/snapshot/snapshot_checks.hpp"
#include "preemption/waiting/pending.hpp"
#include "state/admission/admission.hpp"
#include "state/model/queue_limits.hpp"
#include "state/quantities/quantity.hpp"
#include "state/records/node_record.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace reprieve {

absl::StatusOr<snapshot> snapshot::of(std::vector<object> objects) {
  std::vector<entry> entries;
  for (auto& one : objects)
    entries.push_back({std::move(one), {}, {}});
  return of(std::move(entries));
}

absl::StatusOr<snapshot> snapshot::of(std::vector<entry> entries) {
  std::vector<std::pair<pod, pod_manifest_fields>> pods;
  std::vector<object> objects;
  std::vector<std::pair<std::string, object_status>> statuses;
  for (auto& [what, status, given] : entries)
    if (auto* p = std::get_if<pod>(&what)) {
      pods.emplace_back(std::move(*p), given);
    } else {
      statuses.emplace_back(name_of(what), std::move(status));
      objects.push_back(std::move(what));
    }
  snapshot made;
  facts_of_snapshot before;
  for (std::size_t i = 0; i < objects.size(); ++i)
    if (const auto* known = std::get_if<workload_course>(&statuses[i].second);
        known != nullptr && was_admitted(*known))
      before.add(std::get<workload>(objects[i]), *known);
  auto admitted = admit(objects, made.known_, before);
  if (!admitted.ok())
    return admitted.status();
  for (auto& [what, priorities] : *admitted) {
    put_in(made.known_, what);
    if (const auto* n = std::get_if<node>(&what))
      made.nodes_[n->name] = *n;
    else if (const auto* budget = std::get_if<disruption_budget>(&what))
      made.budgets_.push_back(*budget);
    else if (const auto* share = std::get_if<placement>(&what))
      made.placements_.push_back(*share);
    else if (auto* w = std::get_if<workload>(&what)) {
      workload_record record;
      record.status.uid = made_up_uid;
      record.status.resolved = priorities->whole;
      record.status.by_group = priorities->by_group;
      record.spec = std::move(*w);
      const auto name = record.spec->name;
      made.workloads_[name] = std::move(record);
    }
  }
  for (const auto& [name, status] : statuses)
    if (auto taken = made.take(name, status); !taken.ok())
      return taken;
  if (auto checked = check_apart(made.placements_); !checked.ok())
    return checked;
  for (auto& [p, given] : pods)
    if (auto added = made.add(std::move(p), given); !added.ok())
      return added;
  if (auto checked = check_apart(made.pods_); !checked.ok())
    return checked;
  made.name_owners_by_uid();
  return made;
}

absl::Status snapshot::take(const std::string& name, const object_status& status) {
  if (const auto* given = std::get_if<workload_course>(&status))
    return take_course(workloads_.at(name), *given);
  if (const auto* of_group = std::get_if<group_status>(&status)) {
    for (const auto& one : of_group->decisions)
      for (const auto& p : one.victims)
        going_.insert(p.uid);
    groups_[name] = *of_group;
  } else if (const auto* of_queue = std::get_if<queue_status>(&status)) {
    const auto check = [&](std::string_view field, const resources& amounts) {
      for (const auto& [resource, amount] : amounts)
        if (amount < 0)
          return absl::InvalidArgumentError(
            fmt::format("Queue '{}': status.{}.{} is {}; it must not be negative", name, field,
                        resource, format_quantity(amount, resource)));
      return absl::OkStatus();
    };
    if (auto checked = check("allocated", of_queue->allocated); !checked.ok())
      return checked;
    if (auto checked = check("preempting", of_queue->preempting); !checked.ok())
      return checked;
    queues_[name] = *of_queue;
  } else if (const auto* of_node = std::get_if<node_status>(&status)) {
    auto& known = nodes_.at(name);
    known = planned_on(std::move(known), *of_node);
  }
  return absl::OkStatus();
}

absl::Status snapshot::take_course(workload_record& into, const workload_course& given) {
  if (!was_admitted(given)) { // what admission resolved stays
    into.status.submitted = given.submitted;
    into.status.attempts = given.attempts;
    into.status.resume_after = given.resume_after;
    into.status.preempted = given.preempted;
  } else if (given.by_group.size() != into.spec->groups.size()) {
    return absl::InvalidArgumentError(fmt::format(
      "Workload '{}': status.podGroups has {} entries, and spec.podGroups has {}; give one for "
      "each, or leave status.uid out",
      into.spec->name, given.by_group.size(), into.spec->groups.size()));
  } else {
    into.status = given;
  }
  into.slots = given.slots;
  into.deleting = given.deleting;
  return absl::OkStatus();
}

absl::Status snapshot::add(pod p, const pod_manifest_fields& given) {
  if (p.uid.empty())
    p.uid = p.name;
  const auto owner = workloads_.find(p.workload);
  const bool alone = owner == workloads_.end();
  if (alone && !given.preemption_priority && p.priority == 0)
    p.priority = p.own_priority.value_or(0);
  p.opted_out = p.opted_out || opts_out(p.labels);
  if (auto checked = check_pod(p, {nodes_, workloads_, placements_}); !checked.ok())
    return checked;
  pods_.push_back(alone ? std::move(p) : completed(p, given, owner->second));
  pods_of_[pods_.back().workload].push_back(pods_.size() - 1);
  return absl::OkStatus();
}

void snapshot::name_owners_by_uid() {
  std::map<std::string_view, std::string_view> uids;
  for (const auto& p : pods_)
    uids.try_emplace(p.name, p.uid);
  for (const auto& p : pods_)
    uids.insert_or_assign(p.uid, p.uid);
  for (auto& p : pods_)
    if (const auto found = uids.find(p.owner); found != uids.end())
      p.owner = std::string(found->second);
}

const group_status& snapshot::status_of(std::string_view group) const {
  static const group_status nothing;
  const auto* known = find(groups_, group);
  return known == nullptr ? nothing : *known;
}

const by_name<queue_status>& snapshot::queues_in(std::string_view group) const {
  const auto* known = find(groups_, group);
  return known == nullptr || !known->queues ? queues_ : *known->queues;
}

std::vector<pod> snapshot::pods_in(std::string_view group) const {
  std::vector<pod> found;
  for (const auto& p : pods_)
    if (const auto* on = find(nodes_, p.node); on != nullptr && on->resource_group == group)
      found.push_back(p);
  return found;
}

std::vector<held_decision> snapshot::holds(std::string_view group) const {
  auto found = holds_among(pods_in(group));
  const auto* known = find(groups_, group);
  if (known == nullptr)
    return found;
  std::erase_if(found, [&](const held_decision& held) {
    const auto one = std::ranges::find(known->decisions, held.id, &standing_decision::id);
    return one == known->decisions.end() || one->phase == decision_phase::starting;
  });
  return found;
}

const node_reservation* snapshot::reservation_for(std::string_view group,
                                                  std::string_view uid) const {
  const auto& all = status_of(group).reservations;
  const auto found = std::ranges::find(all, uid, &node_reservation::uid);
  return found == all.end() ? nullptr : &*found;
}

const by_name<resources>* snapshot::grants(std::string_view group) const {
  const auto& known = status_of(group).grants;
  return known ? &*known : nullptr;
}

std::vector<std::string> snapshot::groups() const {
  std::set<std::string> names;
  for (const auto& [name, n] : nodes_)
    names.insert(n.resource_group);
  for (const auto& [name, record] : workloads_)
    names.insert(record.spec->resource_group);
  if (std::ranges::any_of(pods_, [&](const pod& p) { return !workloads_.contains(p.workload); }))
    names.emplace(default_group);
  return {names.begin(), names.end()};
}

resource_group snapshot::settings_of(std::string_view group) const {
  const auto* known = find(known_.groups, group);
  return known == nullptr ? resource_group{} : *known;
}

by_name<std::int32_t> snapshot::recent_preemptions(time_point now) const {
  by_name<std::int32_t> times;
  for (const auto& [name, record] : workloads_)
    if (const auto lately = reprieve::recent_preemptions(record.status, now); lately > 0)
      times[name] = lately;
  return times;
}

resources snapshot::capacity_of(std::string_view group) const {
  resources total;
  for (const auto& [name, n] : nodes_)
    if (n.resource_group == group)
      for (const auto& [resource, amount] : n.capacity)
        total[resource] += amount;
  return total;
}

cluster_view snapshot::view_of(std::string_view group) const {
  return view_where([&](const std::string& name) { return name == group; });
}

cluster_view snapshot::whole_view() const {
  return view_where([](const std::string&) { return true; });
}

cluster_view snapshot::view_where(const std::function<bool(const std::string&)>& takes) const {
  cluster_view view;
  for (const auto& [name, n] : nodes_)
    if (takes(n.resource_group))
      view.put_node(n);
  for (const auto& p : pods_)
    if (takes_room(p.phase))
      view.put_pod(p);
  for (const auto& budget : budgets_)
    if (takes(budget.resource_group))
      view.put_budget(budget);
  for (const auto& group : groups())
    if (takes(group))
      for (const auto& unit : pending(group))
        if (!is_left_to_cluster(unit.workload))
          for (const auto& wanted : unit.groups)
            for (const auto& p : wanted.pods)
              view.expect(p.labels, 1);
  view.settle();
  return view;
}

bool snapshot::is_left_to_cluster(std::string_view workload) const {
  const auto* record = find(workloads_, workload);
  return record != nullptr && is_counted(record->spec)
         && settings_of(record->spec->resource_group).policy == group_policy::lifecycle;
}

std::vector<preemptor> snapshot::pending(std::string_view group) const {
  std::vector<const workload_record*> order;
  for (const auto& [name, record] : workloads_)
    if (record.spec->resource_group == group)
      order.push_back(&record);
  std::ranges::sort(order, [](const auto* a, const auto* b) { return served_before(*a, *b); });
  std::vector<preemptor> found;
  for (const auto* record : order)
    std::ranges::move(units_of(*record), std::back_inserter(found));
  // Pods of workloads that are not described belong to the default group.
  if (group == default_group) {
    std::set<std::string_view> others;
    for (const auto& p : pods_)
      if (p.phase == pod_phase::pending && !workloads_.contains(p.workload))
        others.insert(p.workload);
    for (const auto workload : others)
      std::ranges::move(units_of_pods(workload), std::back_inserter(found));
  }
  // A pod group may have another priority than its workload.
  std::ranges::stable_sort(found, std::greater{}, &preemptor::priority);
  return found;
}

absl::StatusOr<std::string> snapshot::group_of(std::string_view workload_or_pod) const {
  const auto name = workload_named(workload_or_pod);
  if (const auto record = workloads_.find(name); record != workloads_.end())
    return record->second.spec->resource_group;
  if (std::ranges::any_of(pods_, [&](const pod& p) { return p.workload == name; }))
    return std::string(default_group);
  std::vector<std::string> names;
  for (const auto& [known, record] : workloads_)
    names.push_back(known);
  return absl::InvalidArgumentError(fmt::format(
    "--preemptor is {}, and the snapshot has neither a workload nor a pod of that name{}",
    workload_or_pod,
    names.empty() ? std::string("; it has no workloads at all")
                  : fmt::format("; its workloads are {}", fmt::join(names, ", "))));
}

std::vector<preemptor> snapshot::pending_of(std::string_view workload_or_pod) const {
  const auto name = workload_named(workload_or_pod);
  const auto record = workloads_.find(name);
  return record == workloads_.end() ? units_of_pods(name) : units_of(record->second);
}

std::string snapshot::workload_named(std::string_view workload_or_pod) const {
  if (!workloads_.contains(workload_or_pod))
    for (const auto& p : pods_)
      if (p.name == workload_or_pod || p.uid == workload_or_pod)
        return p.workload;
  return std::string(workload_or_pod);
}

std::vector<preemptor> snapshot::units_of(const workload_record& record) const {
  std::vector<const pod*> its_pods;
  if (const auto* positions = find(pods_of_, record.spec->name))
    for (const auto i : *positions)
      its_pods.push_back(&pods_[i]);
  return lacking_with(record, its_pods);
}

std::vector<preemptor> snapshot::lacking_with(const workload_record& record,
                                              std::span<const pod* const> its_pods,
                                              resources* held_back) const {
  // By place: the newest pod there, with those that stood there before it.
  std::map<std::tuple<std::string_view, std::int32_t, std::int32_t>, const pod*> newest;
  restless_replicas restless;
  for (const auto* p : its_pods) {
    if (p->phase == pod_phase::pending)
      continue;
    restless.add(&record, *p);
    auto& at = newest[{p->group, p->replica, p->index}];
    if (at == nullptr || at->incarnation < p->incarnation)
      at = p;
  }
  const auto standing = [&](const pod& p) -> const pod* {
    const auto found = newest.find({p.group, p.replica, p.index});
    return found == newest.end() || found->second->incarnation < p.incarnation ? nullptr
                                                                               : found->second;
  };
  auto lacking = lacking_units(
    record, [&](const pod& p) { return standing(p) != nullptr || going_.contains(p.uid); },
    [&](const pod& p) {
      const auto* at = standing(p);
      return at == nullptr ? nullptr : find(nodes_, at->node);
    });
  const auto later = restless.take_out_held_back(lacking);
  if (held_back != nullptr)
    add_to(*held_back, later);
  return lacking;
}

std::vector<preemptor> snapshot::units_of_pods(std::string_view workload) const {
  std::map<std::pair<std::string, std::int32_t>, preemptor> gangs;
  std::vector<preemptor> units;
  for (const auto& p : pods_) {
    if (p.workload != workload || p.phase != pod_phase::pending)
      continue;
    const bool gang = p.disruption == disruption_mode::pod_group;
    auto& unit = gang ? gangs[{p.group, p.replica}] : units.emplace_back();
    unit.workload = p.workload;
    unit.priority = p.own_priority.value_or(p.priority);
    unit.gang = gang;
    if (unit.groups.empty())
      unit.groups.emplace_back().name = p.group;
    unit.groups.front().pods.push_back(p);
    ++unit.groups.front().needed;
  }
  for (auto& [replica, gang] : gangs)
    units.push_back(std::move(gang));
  return units;
}

void carry_out(const plan& made, std::string_view id, const std::vector<pod>& pods,
               cluster_view& view) {
  for (const auto& one : made.assignments) {
    auto held = one.placed;
    held.placed_by = id;
    view.put_pod(held);
    view.expect(held.labels, -1);
  }
  std::set<std::string_view> going;
  for (const auto& one : made.victims)
    for (const auto& p : one.pods)
      going.insert(p.uid);
  for (const auto& p : pods)
    if (going.contains(p.uid)) {
      auto leaves = p;
      leaves.evicted_by = id;
      view.put_pod(leaves);
    }
  view.settle();
}

} // namespace reprieve
