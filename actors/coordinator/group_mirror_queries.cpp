#include "actors/coordinator/group_mirror.hpp"
#include "actors/durability/record_room.hpp"
#include "actors/interfaces/planted_bug.hpp"
#include "preemption/engine.hpp"
#include "preemption/waiting/groundless.hpp"
#include "preemption/waiting/pending.hpp"
#include "state/records/recent_preemptions.hpp"

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
    for (const auto& other : given_up_)
      if (other != id && places_any_of(other, part.placed))
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

/// Whether the open decision places pods of a workload that one of these is of.
bool group_mirror::places_any_of(const std::string& decision, const pod_list& pods) const {
  return std::ranges::any_of(pods, [&](const pod& p) {
    const auto owner = workloads_.find(p.workload);
    return owner != workloads_.end() && owner->second.placed_by.contains(decision);
  });
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
held_decision group_mirror::hold_of(const promised_decision& d) const {
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
  return held_back_.told();
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
      const auto& counted = one->second.counted;
      if (comes_back(*counted.record, now))
        found.push_back({place, counted.used.leaving, one->second.stands.told(), true});
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
  return found != workloads_.end() && !found->second.aside && found->second.stands.lacks(who);
}

void group_mirror::put_aside(const std::string& workload, bool so) {
  const auto found = workloads_.find(workload);
  if (found != workloads_.end() && std::exchange(found->second.aside, so) != so)
    mark(*found);
}

namespace {

/// What of a record those take who stay.
std::size_t bytes_of_staying(const pod_list& pods) {
  std::size_t bytes = 0;
  for (const auto& shared : pods.shared())
    if (const auto& p = shared->what(); !is_leaving(p.phase) && p.evicted_by.empty())
      bytes += bytes_kept_for(*shared);
  return bytes;
}

} // namespace

std::string group_mirror::why_not_in_records(const preemptor& who, const plan& made) {
  constexpr std::size_t much = record_limits::staying_pods_bytes / 32;
  constexpr auto limit = record_limits::staying_pods_bytes;
  std::map<std::string_view, std::size_t> by_group; // bytes of a pod: they are alike
  for (const auto& one : made.assignments)
    if (by_group.try_emplace(one.placed.group, 0).second)
      by_group[one.placed.group] = bytes_kept_for(shared_pod{one.placed});
  std::map<std::string_view, std::size_t> by_node;
  for (const auto& one : made.assignments)
    by_node[one.placed.node] += by_group[one.placed.group];
  std::set<std::string_view> goes;
  for (const auto& one : made.victims)
    for (const auto& p : one.pods)
      goes.insert(p.uid);
  const auto left_on = [&](const node_entry& on) {
    auto used = bytes_of_staying(on.shown);
    for (const auto& shared : on.shown.shared())
      if (goes.contains(shared->what().uid))
        used -= std::min(used, bytes_kept_for(*shared));
    return used < limit ? limit - used : 0;
  };
  const bool all_fit = std::ranges::all_of(by_node, [&](const auto& one) {
    const auto on = nodes_.find(one.first);
    return one.second <= much || on == nodes_.end() || one.second <= left_on(on->second);
  });
  if (all_fit)
    return {};
  // Spread by what the records take, there may be places for all that are needed.
  std::size_t largest = 1;
  for (const auto& [group, bytes] : by_group)
    largest = std::max(largest, bytes);
  std::size_t places = 0;
  for (const auto& [name, on] : nodes_)
    if (on.record && takes_pods(*on.record))
      places += left_on(on) / largest;
  std::size_t needed = 0;
  for (const auto& group : who.groups)
    needed += static_cast<std::size_t>(group.needed);
  if (places >= needed)
    return {};
  return fmt::format("each of its pods brings {} bytes to the record of its node, and the records "
                     "of all nodes have room for {} of the {} that start together; give the pods "
                     "fewer or shorter labels and annotations, or start fewer together",
                     largest, places, needed);
}

std::optional<waiting_unit> group_mirror::unit_placed_by(const std::string& decision) {
  const auto held = hold_of(decision);
  if (!held || held->nominated.empty())
    return std::nullopt;
  const auto found = workloads_.find(held->nominated.front().workload);
  if (found == workloads_.end())
    return std::nullopt;
  std::set<std::string, std::less<>> uids;
  for (const auto& p : held->nominated)
    uids.insert(p.uid);
  for (auto& unit : found->second.stands.listed_without(uids, *this))
    if (moves_with(unit, *held))
      return waiting_unit{found->second.stands.record(),
                          std::make_shared<const preemptor>(std::move(unit)), nullptr};
  return std::nullopt;
}

void group_mirror::leftovers::put(const std::string& name, bool is_fresh) {
  all.insert(name);
  if (is_fresh)
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
    auto more = workloads_.find(name)->second.stands.take_new_unwanted();
    std::ranges::move(more, std::back_inserter(found));
  }
  for (const auto& one : found) {
    being_told_.insert_or_assign(one.uid, one.node);
    show_anew(one.node);
  }
  return found;
}

std::vector<std::string> group_mirror::take_ended_workloads() {
  refresh();
  const auto fresh = std::exchange(ended_.fresh, {});
  return {fresh.begin(), fresh.end()};
}

/// Looks at all pods on the node again, though its record is the same.
void group_mirror::show_anew(std::string_view node) {
  if (const auto on = nodes_.find(node); on != nodes_.end()) {
    on->second.costs_changed = true;
    mark(*on);
  }
}

void group_mirror::look_at_leftovers_again() {
  for (const auto& [uid, node] : std::exchange(being_told_, {}))
    show_anew(node);
  with_unwanted_.fresh = with_unwanted_.all;
  for (const auto& name : with_unwanted_.all)
    workloads_.find(name)->second.stands.look_at_unwanted_again();
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
      one->second.stands.each_pod([&](const pod& p) {
        if (!takes_room(p.phase))
          return;
        const auto& group = one->second.counted.record->spec->resource_group;
        auto& listed = found.emplace_back(queue_pod_of(p, queue, group));
        if (is_planted(planted_bug::double_count) && listed.leaving()) {
          listed.chosen = false;
          listed.phase = pod_phase::nominated; // nobody can be told twice
        }
      });
  }
  std::ranges::sort(found, {}, &queue_pod::uid);
  return found;
}

by_name<std::int32_t> group_mirror::recent_preemptions(time_point now) const {
  by_name<std::int32_t> times;
  for (const auto* one : preempted_)
    if (const auto count = reprieve::recent_preemptions(one->second.counted.record->status, now);
        count > 0)
      times[one->first] = count;
  return times;
}

void group_mirror::guard(const guards& limits) {
  refresh();
  if (!guards_.set(limits))
    return;
  for (const auto& [name, entry] : nodes_)
    for (const auto& p : entry.shown)
      guards_.note_start(p);
  for (const auto* one : preempted_)
    guards_.note_preemptions(*one->second.counted.record);
}

void group_mirror::release(time_point now) {
  for (const auto& one : guards_.take_released(now)) {
    const auto of = workloads_.find(one.workload);
    if (of == workloads_.end())
      continue;
    const auto free = [&](const std::string& node) {
      if (const auto on = nodes_.find(node); on != nodes_.end())
        freed_.insert(&*on);
    };
    if (one.node.empty())
      of->second.stands.each_pod([&](const pod& p) { free(p.node); });
    else
      free(one.node);
    if (const auto& record = of->second.stands.record())
      lighter_.insert(record->spec->queue);
  }
}

std::shared_ptr<const workload_record> group_mirror::find_workload(std::string_view name) const {
  const auto found = workloads_.find(name);
  return found == workloads_.end() ? nullptr : found->second.stands.record();
}

std::vector<group_mirror::groundless_decision> group_mirror::groundless() {
  std::vector<groundless_decision> found;
  for (const auto& id : std::exchange(unjudged_, {}))
    if (const auto open = open_.find(id); open != open_.end() && !open->second.given_up)
      if (auto reason = why_groundless(open->second); !reason.empty())
        found.push_back({id, std::move(reason)});
  return found;
}

void group_mirror::each_going(const std::string& workload,
                              const std::function<void(const portion_id&)>& use) const {
  const auto first = workload + '-'; // as the uids of its pods begin
  for (auto at = going_.lower_bound(first); at != going_.end() && at->first.starts_with(first);
       ++at)
    if (at->second.workload == workload)
      use(at->second);
}

const node* group_mirror::node_of(const pod& p) const {
  const auto on = nodes_.find(p.node);
  return on == nodes_.end() || !on->second.in_view ? nullptr : &*on->second.in_view->spec;
}

bool group_mirror::counts_leaving() const {
  return !is_planted(planted_bug::double_count);
}

time_point group_mirror::look_for_stuck(time_point now, duration force_delete_after) {
  refresh();
  const auto found = stopping_.look(now, force_delete_after);
  for (const auto& name : found.nodes) {
    auto& node = node_named(name);
    node.second.costs_changed = true;
    mark(node);
    for (const auto& [id, part] : node.second.promised)
      unjudged_.insert(id);
  }
  return found.next;
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
     .does_not_go = [&](std::string_view uid) { return stopping_.is_stuck(uid); }});
}

} // namespace reprieve