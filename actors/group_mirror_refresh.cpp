#include "actors/group_mirror.hpp"
#include "actors/planted_bug.hpp"
#include "actors/pod_changes.hpp"
#include "preemption/groundless.hpp"
#include "preemption/pending.hpp"
#include "preemption/turn.hpp"

#include <algorithm>

// How the mirror's view comes to show what changed.

namespace reprieve {

namespace {

void take_from(resources& from, const resources& amounts) {
  for (const auto& [resource, amount] : amounts)
    from[resource] -= amount;
}

bool uses_less(const resources& now, const resources& before) {
  return std::ranges::any_of(before,
                             [&](const auto& of) { return amount_of(now, of.first) < of.second; });
}

/// Whether the pod is to stay on its node, or to come there.
bool stays_or_comes(const pod& p) {
  return p.evicted_by.empty() && p.stop_told == no_time
         && (p.phase == pod_phase::nominated || p.phase == pod_phase::bound
             || p.phase == pod_phase::running);
}

} // namespace

/// The pod with what its workload says of its cost by now.
pod_list::pointer group_mirror::with_costs(const pod_list::pointer& p) {
  const bool stays = stuck_.contains(p->what().uid);
  const auto owner = workloads_.find(p->what().workload);
  const auto* record = owner == workloads_.end() ? nullptr : owner->second.record.get();
  if (!stays && (record == nullptr || follows(p->what(), record->spec, record->status)))
    return p;
  auto shown = p->what();
  if (record != nullptr)
    follow(shown, record->spec, record->status);
  if (stays)
    make_immovable(shown);
  return std::make_shared<const shared_pod>(std::move(shown));
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
  freed_.insert(&from);
  note_for_shards(p);
  // It may stand on another node already.
  if (const auto at = owner.second.pods.find(p.uid);
      at != owner.second.pods.end() && at->second == &from) {
    owner.second.pods.erase(at);
    view_.remove_pod(p.uid);
  }
}

/// As for a record, but with the same objects as the last time.
void group_mirror::apply(pod_list& pods, promised_part& promised, const std::string& decision) {
  const auto before = std::exchange(promised.marked, {});
  reprieve::apply(pods, promised.part, [&](const pod_list::pointer& found) {
    const auto known = std::ranges::find(before, found, &marked_pod::recorded);
    return promised.marked
      .emplace_back(found, known != before.end() ? known->marked : chosen_by(decision, found))
      .marked;
  });
}

/// What a decision that is given up has done to the record's pods is not shown, as far as it can be
/// undone.
void group_mirror::undo(pod_list& pods, const std::string& decision) {
  const auto recorded = pods;
  for (const auto& shared : recorded.shared()) {
    const auto& p = shared->what();
    if (p.phase == pod_phase::nominated && p.placed_by == decision) {
      pods.erase(p.uid);
    } else if (p.evicted_by == decision && p.stop_told == no_time && !is_leaving(p.phase)) {
      auto stays = p;
      stays.evicted_by.clear();
      pods.put(std::move(stays));
    }
  }
}

/// Whether the pod's workload stands as it did before the pod came further.
bool group_mirror::stands_alike(const pod& before, const pod& now) const {
  if (!stays_or_comes(before) || !stays_or_comes(now) || before.node != now.node
      || before.workload != now.workload || before.group != now.group
      || before.replica != now.replica || before.disruption != now.disruption
      || before.requests != now.requests)
    return false;
  if ((before.phase == pod_phase::nominated) == (now.phase == pod_phase::nominated))
    return true;
  // More of a gang may wait for it, and it may not be wanted any more.
  const auto owner = find_workload(now.workload);
  return owner && std::ranges::none_of(owner->spec->groups, &pod_group::is_gang)
         && wants(*owner, now);
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
    // Whatever becomes of a decision, the pods that it places are there until all of it is over.
    for (auto& [id, promised] : entry.promised)
      if (promised.given_up)
        undo(wanted, id);
      else
        apply(wanted, promised, id);
  }
  auto [shown, changed, gone] =
    changes_between(entry.taken_in, entry.shown, wanted, look_at_costs,
                    [&](const pod_list::pointer& p) { return with_costs(p); });
  for (const auto& p : gone)
    take_out(one, p->what());
  entry.taken_in = std::move(wanted);
  entry.shown = std::move(shown);
  const bool same_size =
    entry.in_view && entry.record && entry.in_view->spec->capacity == entry.record->spec->capacity;
  if (entry.in_view && !same_size)
    take_from(capacity_, entry.in_view->spec->capacity);
  if (!entry.record) {
    view_.remove_node(name);
    ++nodes_seen_;
    entry.in_view = nullptr;
    ahead_.erase(&one);
    freed_.erase(&one);
    with_arrivals_.erase(&one);
    if (entry.promised.empty())
      nodes_.erase(nodes_.find(name));
    return;
  }
  if (!entry.in_view || !planned_on_alike(*entry.in_view, *entry.record)) {
    view_.put_node(planned_on(*entry.record));
    ++nodes_seen_;
    freed_.insert(&one);
  }
  if (look_at_costs)
    freed_.insert(&one);
  entry.in_view = entry.record;
  if (!same_size)
    add_to(capacity_, entry.record->spec->capacity);
  compare_with_shard(one);
  for (const auto& [before, now] : changed)
    show(one, before, now->what());
}

/// The pod stands on the node, or has changed there from what it was before.
void group_mirror::show(named_node& on, const pod_list::pointer& before, const pod& p) {
  view_.put_pod(p, before ? &before->what() : nullptr);
  note_for_shards(p);
  guard_started(p);
  if (!stays_or_comes(p))
    freed_.insert(&on);
  if (before && before->what().phase == pod_phase::nominated && p.phase != pod_phase::nominated) {
    with_arrivals_.insert(&on);
    if (const auto owner = find_workload(p.workload)) {
      const auto [at, first] = arrivals_.try_emplace(owner->spec->queue, p.priority);
      at->second = std::min(at->second, p.priority);
    }
  }
  if (before && stands_alike(before->what(), p))
    return;
  // How long a replica has, its cluster decides, until it is to be taken away by force.
  if (p.stop_told != no_time
      && (p.placed_by != placed_by_cluster || p.phase == pod_phase::force_deleting)) {
    forget_told(p.uid);
    const auto grace_over = p.stop_told + p.checkpoint_time + p.grace_period;
    told_[p.uid] = {&on, grace_over};
    told_in_order_.emplace(grace_over, p.uid);
  }
  auto& owner = workload_named(p.workload);
  owner.second.pods.insert_or_assign(p.uid, &on);
  mark(owner);
}

group_mirror::standing group_mirror::forget_standing(named_workload& one) {
  auto& was = one.second.now;
  if (was.record) {
    const auto of_queue = by_queue_.find(was.record->spec->queue);
    of_queue->second.erase(&one);
    if (of_queue->second.empty())
      by_queue_.erase(of_queue);
    preempted_.erase(&one);
    if (!was.used.leaving.empty()) {
      const auto some = with_leaving_.find(was.record->spec->queue);
      some->second.erase(place_of_work(*was.record));
      if (some->second.empty())
        with_leaving_.erase(some);
    }
    auto& usage = usage_[was.record->spec->queue];
    take_from(usage.staying, was.used.staying);
    take_from(usage.leaving, was.used.leaving);
    if (!was.again.empty())
      take_from(again_[was.record->spec->queue], was.again);
    if (!was.held_back.empty())
      take_from(held_back_[was.record->spec->queue], was.held_back);
    expect_in_budgets(was, -1);
  }
  return std::exchange(was, {});
}

/// Pods that wait are expected by budgets, and missing.
void group_mirror::expect_in_budgets(const standing& of, std::int64_t sign) {
  for (const auto& unit : of.lacking)
    for (const auto& group : unit->groups)
      view_.expect(group.pods.front().labels, sign * std::ssize(group.pods));
}

/// What the workload lacks and may ask for.
void group_mirror::find_lacking(workload_entry& entry, const restless_replicas& restless) {
  const auto& record = *entry.record;
  if (is_left_to_cluster(&record))
    return;
  const auto stands = [&](const std::string& uid) {
    return entry.pods.contains(uid) || going_.contains(uid);
  };
  if (!lacks_pods(record, stands))
    return;
  auto lacking = lacking_units(
    record, [&](const pod& p) { return stands(p.uid); },
    [&](const pod& p) -> const node* {
      const auto at = entry.pods.find(p.uid);
      return at == entry.pods.end() ? nullptr : &*at->second->second.in_view->spec;
    });
  entry.now.held_back = restless.take_out_held_back(record, lacking);
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
  const auto before = forget_standing(one);
  const bool lacked = !before.lacking.empty();
  const auto& record = entry.record;
  auto& now = entry.now;
  restless_replicas restless;
  resources unwanted; // by anybody, for good
  for (const auto& [uid, node] : entry.pods) {
    const pod& p = *node->second.shown.find(uid);
    // All that a workload does not want any more goes at once, whoever of them is told first.
    const bool leaves =
      is_leaving(p.phase) || !p.evicted_by.empty() || is_unwanted(p, record.get());
    restless.add(record.get(), p);
    if (!takes_room(p.phase))
      continue;
    if (record)
      add_taken(
        leaves && planted != planted_bug::double_count ? now.used.leaving : now.used.staying, p);
    if (leaves)
      now.told = std::max(now.told, p.stop_told);
    if (record && is_unwanted(p, record.get()) && !wants_place_of(*record, p))
      add_taken(unwanted, p);
    if (p.evicted_by.empty() && p.phase != pod_phase::nominated && p.stop_told == no_time
        && is_unwanted(p, record.get()))
      now.unwanted.push_back({uid, p.node});
  }
  if (!now.unwanted.empty())
    with_unwanted_.put(name);
  if (before.record
      && (!record || record->spec->queue != before.record->spec->queue
          || uses_less(now.used.staying, before.used.staying)))
    lighter_.insert(before.record->spec->queue);
  if (!record) {
    if (lacked)
      line_.put(name, {});
    if (entry.pods.empty() && entry.placed_by.empty())
      workloads_.erase(workloads_.find(name));
    return;
  }
  now.record = record;
  by_queue_[record->spec->queue].insert(&one);
  if (!now.used.leaving.empty())
    with_leaving_[record->spec->queue].emplace(place_of_work(*record), &one);
  if (!record->status.preempted.empty()) {
    preempted_.insert(&one);
    guard_preempted(*record);
  }
  find_lacking(entry, restless);
  if (lacked || !now.lacking.empty()) {
    std::vector<waiting_unit> units;
    units.reserve(now.lacking.size());
    for (const auto& unit : now.lacking)
      units.push_back({record, unit});
    line_.put(name, std::move(units));
  }
  now.ended = record->deleting && entry.pods.empty();
  if (now.ended)
    ended_.put(name);
  auto& usage = usage_[record->spec->queue];
  add_to(usage.staying, now.used.staying);
  add_to(usage.leaving, now.used.leaving);
  if (!now.held_back.empty())
    add_to(held_back_[record->spec->queue], now.held_back);
  if (!now.used.leaving.empty()) {
    auto wanted = now.held_back;
    for (const auto& unit : now.lacking)
      add_to(wanted, demand_of(*unit));
    auto returning = now.used.leaving;
    take_from(returning, unwanted);
    now.again = waits_again(returning, wanted);
    add_to(now.again, unwanted);
    add_to(again_[record->spec->queue], now.again);
  }
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
