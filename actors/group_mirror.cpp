#include "actors/group_mirror.hpp"

#include "actors/pod_changes.hpp"
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
/// Budgets do not count on it, as their owner does not either, or it would vote against the plan.
void make_immovable(pod& p) {
  p.phase = pod_phase::surplus;
  p.evicted_by.clear();
  p.daemon = true;
}

/// Whether the pod's whole replica goes while its workload counts on it still: what the replica
/// lacks will not be wanted any more, or not as it is now.
bool goes_before_it_is_known(const pod& p, const workload_record* owner) {
  return p.disruption == disruption_mode::pod_group && !p.evicted_by.empty() && owner != nullptr
         && wants(*owner, p);
}

/// Whether the pod has only come further on its node since, which is nothing to its workload.
bool differ_in_progress_only(const pod& before, const pod& now) {
  const auto is_there = [](const pod& p) {
    return (p.phase == pod_phase::bound || p.phase == pod_phase::running) && p.evicted_by.empty();
  };
  return is_there(before) && is_there(now) && before.node == now.node
         && before.workload == now.workload && before.group == now.group
         && before.replica == now.replica && before.disruption == now.disruption
         && before.requests == now.requests;
}

/// Whether decisions for a node stand on the same ground by either record.
bool takes_pods_alike(const std::shared_ptr<const node_record>& a,
                      const std::shared_ptr<const node_record>& b) {
  return (a && takes_pods(*a)) == (b && takes_pods(*b));
}

} // namespace

bool group_mirror::by_service::operator()(const standing* a, const standing* b) const {
  return served_before(*a->record, *b->record);
}

group_mirror::named_node& group_mirror::node_named(std::string_view name) {
  const auto found = nodes_.find(name);
  return found != nodes_.end() ? *found : *nodes_.try_emplace(std::string(name)).first;
}

group_mirror::named_workload& group_mirror::workload_named(std::string_view name) {
  const auto found = workloads_.find(name);
  return found != workloads_.end() ? *found : *workloads_.try_emplace(std::string(name)).first;
}

void group_mirror::mark(named_node& one) {
  if (!std::exchange(one.second.stale, true))
    stale_nodes_.push_back(&one);
}

void group_mirror::mark(named_workload& one) {
  if (!std::exchange(one.second.stale, true))
    stale_workloads_.push_back(&one);
}

void group_mirror::put(std::shared_ptr<const node_record> record) {
  auto& known = node_named(record->spec.name);
  mark(known);
  if (!takes_pods_alike(known.second.record, record))
    for (const auto& [id, part] : known.second.promised)
      unjudged_.insert(id);
  known.second.record = std::move(record);
}

void group_mirror::remove_node(const std::string& name) {
  auto& known = node_named(name);
  mark(known);
  for (const auto& [id, part] : known.second.promised)
    unjudged_.insert(id);
  known.second.record = nullptr;
}

void group_mirror::put(std::shared_ptr<const workload_record> record) {
  auto& known = workload_named(record->spec.name);
  auto& entry = known.second;
  mark(known);
  unjudged_.insert(entry.placed_by.begin(), entry.placed_by.end());
  if (!entry.record || !cost_the_same(*entry.record, *record))
    for (const auto& [uid, node] : entry.pods) {
      node->second.costs_changed = true;
      mark(*node);
    }
  entry.record = std::move(record);
}

void group_mirror::remove_workload(const std::string& name) {
  auto& known = workload_named(name);
  mark(known);
  unjudged_.insert(known.second.placed_by.begin(), known.second.placed_by.end());
  known.second.record = nullptr;
}

void group_mirror::put(const disruption_budget& budget) {
  view_.put_budget(budget);
}

void group_mirror::remove_budget(const std::string& name) {
  view_.remove_budget(name);
}

void group_mirror::promise(const std::string& id, const pod_list::pointer& placed) {
  auto& on = node_named(placed->what().node);
  on.second.promised[id].placed.put(placed);
  if (on.second.stale || !on.second.in_view) {
    mark(on);
    return;
  }
  // The node is up to date: what comes is all that changes.
  auto& taken_in = on.second.taken_in;
  auto& shown = on.second.shown;
  if (taken_in.shares_all_with(shown)) {
    shown = {};
    taken_in.put(placed);
    shown = taken_in;
  } else {
    taken_in.put(placed);
    shown.put(placed);
  }
  ahead_.insert(&on);
  show(on, placed->what());
}

void group_mirror::open(open_decision d, std::span<const node_part> parts) {
  for (const auto& part : parts) {
    auto& on = node_named(part.node);
    auto& promised = on.second.promised[d.id];
    // What was promised one by one is there.
    if (!part.victims.empty() || !promised.placed.shares_all_with(part.placed))
      mark(on);
    promised = part;
  }
  for (const auto& p : d.placed)
    workload_named(p->what().workload).second.placed_by.insert(d.id);
  for (const auto& one : d.victims)
    for (const auto& p : one.pods)
      going_.insert(p.uid);
  unjudged_.insert(d.id);
  auto& kept = open_[d.id];
  kept = std::move(d);
}

void group_mirror::spare_victims(const std::string& id) {
  const auto found = open_.find(id);
  if (found == open_.end())
    return;
  for (const auto& one : found->second.victims)
    for (const auto& p : one.pods) {
      auto& on = node_named(p.node);
      if (const auto part = on.second.promised.find(id); part != on.second.promised.end())
        part->second.victims.clear();
      mark(on);
    }
}

void group_mirror::close(const std::string& id) {
  const auto found = open_.find(id);
  if (found == open_.end())
    return;
  const auto close_on = [&](const std::string& node) {
    auto& on = node_named(node);
    if (on.second.promised.erase(id) > 0)
      mark(on);
  };
  for (const auto& p : found->second.placed) {
    close_on(p->what().node);
    auto& placed = workload_named(p->what().workload);
    if (placed.second.placed_by.erase(id) > 0)
      mark(placed); // so that nothing is kept of one that is not there any more
  }
  for (const auto& one : found->second.victims) {
    mark(workload_named(one.portion.workload));
    for (const auto& p : one.pods) {
      close_on(p.node);
      going_.erase(p.uid);
    }
  }
  unjudged_.erase(id);
  starting_.erase(id);
  open_.erase(found);
}

/// The pod with what its workload says of its cost by now.
pod_list::pointer group_mirror::with_costs(const pod_list::pointer& p) {
  if (stuck_.contains(p->what().uid)) {
    auto immovable = p->what();
    make_immovable(immovable);
    return std::make_shared<const shared_pod>(std::move(immovable));
  }
  const auto owner = workloads_.find(p->what().workload);
  if (owner == workloads_.end() || !owner->second.record)
    return p;
  const auto& record = *owner->second.record;
  if (follows(p->what(), record.spec, record.status))
    return p;
  auto followed = p->what();
  follow(followed, record.spec, record.status);
  return std::make_shared<const shared_pod>(std::move(followed));
}

void group_mirror::forget_told(const std::string& uid) {
  if (const auto found = told_.find(uid); found != told_.end()) {
    told_in_order_.erase({found->second.second, uid});
    told_.erase(found);
  }
}

/// The pod has left the node.
void group_mirror::take_out(named_node& from, const pod& p) {
  auto& owner = workload_named(p.workload);
  mark(owner);
  forget_told(p.uid);
  room_came_free_ = true;
  note_for_shards(p);
  // It may stand on another node already.
  if (const auto at = owner.second.pods.find(p.uid);
      at != owner.second.pods.end() && at->second == &from) {
    owner.second.pods.erase(at);
    view_.remove_pod(p.uid);
  }
}

/// Brings one node in the view to what its record says and the open decisions will make of it. What
/// has not changed is not looked at.
void group_mirror::refresh_node(named_node& one) {
  auto& [name, entry] = one;
  entry.stale = false;
  const bool look_at_costs = std::exchange(entry.costs_changed, false);
  pod_list wanted;
  if (entry.record) {
    wanted = entry.record->pods;
    for (const auto& [id, part] : entry.promised)
      apply(wanted, part, id);
  }
  auto [shown, changed, gone] =
    changes_between(entry.taken_in, entry.shown, wanted, look_at_costs,
                    [&](const pod_list::pointer& p) { return with_costs(p); });
  for (const auto& p : gone)
    take_out(one, p->what());
  entry.taken_in = std::move(wanted);
  entry.shown = std::move(shown);
  const bool same_size =
    entry.in_view && entry.record && entry.in_view->spec.capacity == entry.record->spec.capacity;
  if (entry.in_view && !same_size)
    take_from(capacity_, entry.in_view->spec.capacity);
  if (!entry.record) {
    view_.remove_node(name);
    entry.in_view = nullptr;
    ahead_.erase(&one);
    if (entry.promised.empty())
      nodes_.erase(nodes_.find(name));
    return;
  }
  if (!entry.in_view || !planned_on_alike(*entry.in_view, *entry.record)) {
    view_.put_node(planned_on(*entry.record));
    room_came_free_ = true;
  }
  entry.in_view = entry.record;
  if (!same_size)
    add_to(capacity_, entry.record->spec.capacity);
  compare_with_shard(one);
  for (const auto& [before, now] : changed) {
    if (before && differ_in_progress_only(before->what(), now->what()))
      view_.put_pod(now->what());
    else
      show(one, now->what());
  }
}

/// The pod stands on the node, or has changed there.
void group_mirror::show(named_node& on, const pod& p) {
  view_.put_pod(p);
  note_for_shards(p);
  if (p.stop_told != no_time) {
    forget_told(p.uid);
    const auto grace_over = p.stop_told + p.checkpoint_time + p.grace_period;
    told_[p.uid] = {&on, grace_over};
    told_in_order_.emplace(grace_over, p.uid);
  }
  auto& owner = workload_named(p.workload);
  owner.second.pods.insert_or_assign(p.uid, &on);
  mark(owner);
}

void group_mirror::forget_standing(workload_entry& entry) {
  auto& was = entry.now;
  if (was.record) {
    auto& usage = usage_[was.record->spec.queue];
    take_from(usage.staying, was.used.staying);
    take_from(usage.leaving, was.used.leaving);
    expect_in_budgets(was, -1);
    if (!was.lacking.empty())
      lacking_.erase(&was);
  }
  was = {};
}

/// Pods that wait are expected by budgets, and missing.
void group_mirror::expect_in_budgets(const standing& of, std::int64_t sign) {
  for (const auto& unit : of.lacking)
    for (const auto& group : unit->groups)
      view_.expect(group.pods.front().labels, sign * std::ssize(group.pods));
}

/// What the workload lacks. `unsettled` are the replicas of groups with pods that come or go,
/// `doomed` those that go as a whole before the workload knows of it.
void group_mirror::find_lacking(workload_entry& entry, const replicas& unsettled,
                                const replicas& doomed) {
  const auto& record = *entry.record;
  const auto stands = [&](const std::string& uid) {
    return entry.pods.contains(uid) || going_.contains(uid);
  };
  if (!lacks_pods(record, stands))
    return;
  auto lacking = lacking_units(
    record, [&](const pod& p) { return stands(p.uid); },
    [&](const pod& p) -> const node* {
      const auto at = entry.pods.find(p.uid);
      return at == entry.pods.end() ? nullptr : &at->second->second.in_view->spec;
    });
  // More of a gang comes when those that it needs are there to stay: the decision that places them
  // may be given up, and nobody joins those who go.
  std::erase_if(lacking, [&](const preemptor& unit) {
    const auto& more = unit.groups.front().pods.front();
    if (std::ranges::any_of(unit.groups, [&](const wanted_group& one) {
          return doomed.contains({one.name, one.pods.front().replica});
        }))
      return true;
    return !unit.gang && unsettled.contains({more.group, more.replica})
           && record.spec.groups[*group_position(record.spec, more.group)].is_gang();
  });
  for (auto& unit : lacking)
    entry.now.lacking.push_back(std::make_shared<const preemptor>(std::move(unit)));
}

void group_mirror::refresh_workload(named_workload& one) {
  auto& [name, entry] = one;
  entry.stale = false;
  if (!entry.now.unwanted.empty())
    with_unwanted_.erase(name);
  if (entry.now.ended)
    ended_.erase(name);
  forget_standing(entry);
  const auto& record = entry.record;
  auto& now = entry.now;
  replicas unsettled;
  replicas doomed;
  for (const auto& [uid, node] : entry.pods) {
    const pod& p = *node->second.shown.find(uid);
    const bool leaves = is_leaving(p.phase) || !p.evicted_by.empty();
    if (leaves || p.phase == pod_phase::nominated)
      unsettled.emplace(p.group, p.replica);
    if (goes_before_it_is_known(p, record.get()))
      doomed.emplace(p.group, p.replica);
    if (!takes_room(p.phase))
      continue;
    if (record)
      add_taken(leaves ? now.used.leaving : now.used.staying, p);
    if (p.evicted_by.empty() && p.phase != pod_phase::nominated && p.stop_told == no_time
        && (!record || !wants(*record, p)))
      now.unwanted.push_back({uid, p.node});
  }
  if (!now.unwanted.empty())
    with_unwanted_.put(name);
  if (!record) {
    if (entry.pods.empty() && entry.placed_by.empty())
      workloads_.erase(workloads_.find(name));
    return;
  }
  now.record = record;
  find_lacking(entry, unsettled, doomed);
  if (!now.lacking.empty())
    lacking_.insert(&now);
  now.ended = record->deleting && entry.pods.empty();
  if (now.ended)
    ended_.put(name);
  auto& usage = usage_[record->spec.queue];
  add_to(usage.staying, now.used.staying);
  add_to(usage.leaving, now.used.leaving);
  expect_in_budgets(now, 1);
}

void group_mirror::refresh() {
  // In order of name, so that it does not matter in which order changes came.
  const auto by_name = [](const auto* a, const auto* b) { return a->first < b->first; };
  auto nodes = std::exchange(stale_nodes_, {});
  std::ranges::sort(nodes, by_name);
  for (auto* one : nodes)
    refresh_node(*one);
  auto workloads = std::exchange(stale_workloads_, {});
  std::ranges::sort(workloads, by_name);
  for (auto* one : workloads)
    refresh_workload(*one);
}

const cluster_view& group_mirror::view_of_nodes() {
  refresh();
  view_.settle_nodes();
  return view_;
}

const cluster_view& group_mirror::view() {
  refresh();
  view_.settle();
  return view_;
}

} // namespace reprieve
