#include "actors/coordinator/group_mirror.hpp"
#include "actors/interfaces/planted_bug.hpp"
#include "actors/interfaces/pod_changes.hpp"
#include "preemption/waiting/groundless.hpp"
#include "preemption/waiting/pending.hpp"
#include "preemption/waiting/wait_reason.hpp"
#include "state/quantities/resource_sums.hpp"

#include <algorithm>
#include <span>

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

/// Whether the pod is to be told to go as nobody wants it, and is not said to go for any reason
/// yet.
bool group_mirror::is_being_told(const pod& p) const {
  return p.evicted_by.empty() && p.stop_told == no_time && being_told_.contains(p.uid);
}

/// The pod with what its workload says of its cost by now, and whether that wants it.
pod_list::pointer group_mirror::with_costs(const pod_list::pointer& p) {
  const bool stays = stopping_.is_stuck(p->what().uid);
  const bool goes = is_being_told(p->what());
  if (!aside_.empty() && !p->what().daemon && is_aside(p->what().workload)) {
    auto shown = p->what();
    shown.daemon = true; // which nobody takes away
    return std::make_shared<const shared_pod>(std::move(shown));
  }
  const auto owner = workloads_.find(p->what().workload);
  const auto* record = owner == workloads_.end() ? nullptr : owner->second.stands.record().get();
  if (!stays && !goes && (record == nullptr || follows(p->what(), record->spec, record->status)))
    return p;
  auto shown = p->what();
  if (goes)
    shown.evicted_by = not_wanted;
  if (record != nullptr)
    follow(shown, record->spec, record->status);
  if (stays)
    make_immovable(shown);
  return std::make_shared<const shared_pod>(std::move(shown));
}

/// The pod has left the node.
void group_mirror::take_out(named_node& from, const pod& p) {
  auto& owner = workload_named(p.workload);
  mark(owner);
  stopping_.erase(p.uid);
  being_told_.erase(p.uid);
  freed_.insert(&from);
  note_for_shards(p);
  // It may stand on another node already.
  if (const auto* at = owner.second.stands.find(p.uid); at != nullptr && at->node == from.first) {
    owner.second.stands.remove_pod(p.uid, *this);
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
    show(one, before, now);
}

/// The pod stands on the node, or has changed there from what it was before.
void group_mirror::show(named_node& on, const pod_list::pointer& before,
                        const pod_list::pointer& now) {
  const auto& p = now->what();
  if (p.stop_told != no_time)
    being_told_.erase(p.uid);
  view_.put_pod(p, before ? &before->what() : nullptr);
  note_for_shards(p);
  guards_.note_start(p);
  if (!stays_or_comes(p))
    freed_.insert(&on);
  if (before && before->what().phase == pod_phase::nominated && p.phase != pod_phase::nominated) {
    with_arrivals_.insert(&on);
    if (const auto owner = find_workload(p.workload)) {
      const auto [at, first] = arrivals_.try_emplace(owner->spec->queue, p.priority);
      at->second = std::min(at->second, p.priority);
    }
  }
  auto& owner = workload_named(p.workload);
  owner.second.stands.put_pod(now, *this);
  if (before && stands_alike(before->what(), p))
    return;
  // How long a replica has, its cluster decides, until it is to be taken away by force.
  if (p.stop_told != no_time
      && (p.placed_by != placed_by_cluster || p.phase == pod_phase::force_deleting))
    stopping_.put(p.uid, on.first, p.stop_told + p.checkpoint_time + p.grace_period);
  mark(owner);
}

group_mirror::counted_standing group_mirror::count_out(named_workload& one) {
  auto& was = one.second.counted;
  if (was.unwanted)
    with_unwanted_.erase(one.first);
  if (was.ended)
    ended_.erase(one.first);
  if (was.record) {
    const auto& queue = was.record->spec->queue;
    const auto of_queue = by_queue_.find(queue);
    of_queue->second.erase(&one);
    if (of_queue->second.empty())
      by_queue_.erase(of_queue);
    preempted_.erase(&one);
    if (!was.used.leaving.empty()) {
      const auto some = with_leaving_.find(queue);
      some->second.erase(place_of_work(*was.record));
      if (some->second.empty())
        with_leaving_.erase(some);
    }
    auto& usage = usage_[queue];
    take_from(usage.staying, was.used.staying);
    take_from(usage.leaving, was.used.leaving);
    if (!was.again->empty())
      take_from(again_[queue], *was.again);
    held_back_.add(queue, *was.held_back, -1);
  }
  return std::exchange(was, {});
}

/// Pods that wait are expected by budgets, and missing. When a pod of one group is placed, those of
/// the groups around it wait as before.
void group_mirror::expect_in_budgets(const counted_standing& before, const counted_standing& now) {
  std::span was(before.expected);
  std::span is(now.expected);
  while (!was.empty() && !is.empty() && was.front() == is.front()) {
    was = was.subspan(1);
    is = is.subspan(1);
  }
  while (!was.empty() && !is.empty() && was.back() == is.back()) {
    was = was.first(was.size() - 1);
    is = is.first(is.size() - 1);
  }
  const auto expect = [&](const counted_standing::expected_pods& of, std::int64_t sign) {
    view_.expect(of.who->groups[of.group].pods.front().labels, sign * of.pods);
  };
  for (const auto& one : was)
    expect(one, -1);
  for (const auto& one : is)
    expect(one, 1);
}

/// All that the workload lacks and may ask for.
std::vector<waiting_unit> group_mirror::line_up(const workload_entry& entry) {
  const auto& record = entry.stands.record();
  std::vector<waiting_unit> units;
  if (entry.aside)
    return units;
  for (const auto& unit : entry.stands.listed())
    units.push_back({record, unit, nullptr});
  for (const auto& run : entry.stands.runs())
    units.push_back({record, run->unit_at(run->first()), run});
  return units;
}

/// Of what leaves, what the workload waits for again already.
void group_mirror::count_what_returns(const workload_entry& entry, counted_standing& now) {
  if (now.used.leaving.empty())
    return;
  auto wanted = *now.held_back;
  for (const auto& unit : entry.stands.listed())
    add_to(wanted, demand_of(*unit));
  for (const auto& run : entry.stands.runs())
    add_times(wanted, demand_of(*run->unit_at(run->first())), run->size());
  const auto& unwanted = entry.stands.unwanted_for_good();
  auto returning = now.used.leaving;
  take_from(returning, unwanted);
  auto again = waits_again(returning, wanted);
  add_to(again, unwanted);
  now.again = std::move(again);
}

/// Counts the workload among those of its queue.
void group_mirror::count_in_queue(named_workload& one) {
  auto& now = one.second.counted;
  const auto& record = *now.record;
  const auto& queue = record.spec->queue;
  by_queue_[queue].insert(&one);
  if (!now.used.leaving.empty())
    with_leaving_[queue].emplace(place_of_work(record), &one);
  if (!record.status.preempted.empty())
    preempted_.insert(&one);
  auto& usage = usage_[queue];
  add_to(usage.staying, now.used.staying);
  add_to(usage.leaving, now.used.leaving);
  held_back_.add(queue, *now.held_back);
  if (!now.again->empty())
    add_to(again_[queue], *now.again);
}

void group_mirror::refresh_workload(named_workload& one) {
  auto& [name, entry] = one;
  entry.stale = false;
  entry.stands.find_listed(*this);
  const auto before = count_out(one);
  const auto& record = entry.stands.record();
  auto& now = entry.counted;
  now.used = entry.stands.used();
  // What a workload wants that can't be read, nobody knows.
  now.unwanted = entry.stands.has_unwanted() && !is_aside(name);
  if (now.unwanted)
    with_unwanted_.put(name, entry.stands.has_new_unwanted());
  if (before.record
      && (!record || record->spec->queue != before.record->spec->queue
          || uses_less(now.used.staying, before.used.staying)))
    lighter_.insert(before.record->spec->queue);
  auto units = record && !may_run_unseen(*record) ? line_up(entry) : std::vector<waiting_unit>{};
  now.waits = !units.empty();
  for (const auto& unit : units)
    for (std::size_t g = 0; g < unit.who->groups.size(); ++g)
      now.expected.push_back(
        {unit.who, g, std::ssize(unit.who->groups[g].pods) * (unit.run ? unit.run->size() : 1)});
  expect_in_budgets(before, now);
  if (before.waits || now.waits)
    line_.put(name, std::move(units));
  if (!record) {
    if (!entry.stands.has_pods() && entry.placed_by.empty())
      workloads_.erase(workloads_.find(name));
    return;
  }
  if (record != before.record)
    guards_.note_preemptions(*record);
  now.record = record;
  now.held_back = entry.stands.held_back();
  count_what_returns(entry, now);
  now.ended = record->deleting && !entry.stands.has_pods();
  if (now.ended)
    ended_.put(name, true);
  count_in_queue(one);
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
