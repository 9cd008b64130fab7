#include "preemption/cycle.hpp"

#include "preemption/required_node.hpp"
#include "preemption/turn.hpp"
#include "state/queue_limits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

namespace reprieve {

namespace {

/// Whether a node as large as this would take one of the pods if it were empty.
bool could_ever_take(const cluster_view& view, node_row n, const resources& requests) {
  const auto asked = view.columns(requests);
  return asked && view.usable(n) && covers(view.capacity(n), *asked);
}

/// Whether the node has room for the request once everybody up to the level has gone.
bool could_take(const cluster_view& view, node_row n, amounts request, std::int64_t level) {
  const auto room = view.promised(n);
  if (covers(room, request))
    return true;
  const auto steps = view.steps(n);
  const auto first = std::ranges::find_if(
    steps, [&](const priority_step& step) { return std::int64_t{step.priority} <= level; });
  if (first == steps.end())
    return false;
  const auto held = view.held_from(n, static_cast<std::size_t>(first - steps.begin()));
  for (std::size_t c = 0; c < request.size(); ++c)
    if (request[c] > 0 && request[c] > room[c] + held[c])
      return false;
  return true;
}

void add_pods_to(resources& sum, const resources& each, std::int64_t count) {
  for (const auto& [resource, amount] : each)
    sum[resource] += amount * count;
}

void add_demand(by_name<resources>& to, const by_name<resources>& more) {
  for (const auto& [queue, amounts] : more)
    add_to(to[queue], amounts);
}

} // namespace

scheduling_cycle::scheduling_cycle(cycle_port& port, plan_settings settings)
    : port_(port), settings_(std::move(settings)) {}

bool scheduling_cycle::run() {
  if (!std::exchange(begun_, true))
    begin();
  while (auto* line = next_line()) {
    const auto [place, unit, kind] = line->heap.front();
    bool parked = false;
    made_room_ = false;
    if (!serve(unit, parked))
      return false;
    advance(*line, parked);
    if (made_room_)
      wake_kinds(&place);
  }
  return true;
}

void scheduling_cycle::serve_only(const std::vector<waiting_unit>& units, front_of_line line) {
  begin();
  front_ = std::move(line);
  lines_.clear();
  for (const auto& unit : units) {
    bool parked = false;
    serve(unit, parked);
  }
}

void scheduling_cycle::begin() {
  begun_ = true;
  auto& line = port_.line();
  line.wake_sleepers(settings_.now);
  if (const auto due = line.next_due(); due != no_time)
    port_.look_again(due);
  run_queue_stage();
  share_out();
  judge_.emplace(port_, settings_, *shares_);
  wake_kinds(nullptr);
  line_up();
}

void scheduling_cycle::run_queue_stage() {
  auto in = port_.queue_input();
  in.now = settings_.now;
  in.limits[settings_.group.name] = settings_.group.limits;
  in.preempted_lately = {settings_.preempted_lately.begin(), settings_.preempted_lately.end()};
  add_demand(in.pending, port_.line().asked());
  queues_ = reprieve::run_queue_stage(in);
  std::vector<std::string> giving;
  for (const auto& one : queues_.queues)
    if (std::ranges::any_of(one.lines, [](const reprieve::queue_line& line) { return line.to_free > 0; }))
      giving.push_back(one.queue);
  if (giving.empty())
    return;
  std::ranges::sort(giving);
  giving.erase(std::ranges::unique(giving).begin(), giving.end());
  for (const auto& queue : giving)
    in.totals.erase(queue);
  in.pods = port_.pods_in(giving);
  queues_ = reprieve::run_queue_stage(in);
  for (const auto& one : queues_.queues)
    if (!one.victims.empty()) {
      port_.take_back(one);
      decided_ = true;
      others_may_have_gone_ = true;
    }
}

/// What waits, by queue, as far as its own queue and the nodes could ever admit it: nothing else
/// counts as demand (DESIGN 3.4).
by_name<resources> scheduling_cycle::admissible() const {
  const auto& view = port_.nodes();
  by_name<resources> found;
  std::map<std::string, bool> known; // by the request of a lone pod without a selector
  const auto ever_fits = [&](const preemptor& who) {
    return std::ranges::all_of(who.groups, [&](const wanted_group& group) {
      const auto& requests = group.pods.front().requests;
      std::string key;
      for (const auto& [resource, amount] : requests)
        key += fmt::format("{}={},", resource, amount);
      const auto [at, fresh] = known.try_emplace(std::move(key), false);
      for (node_row n = 0; fresh && !at->second && n < view.node_rows(); ++n)
        at->second = view.present(n) && could_ever_take(view, n, requests);
      return at->second;
    });
  };
  const auto count = [&](const std::string& queue, const preemptor& who, const resources& each,
                         std::int64_t units) {
    if (ever_fits(who))
      add_pods_to(found[queue], each, units);
  };
  for (const auto& [queue, units] : port_.line().fresh())
    if (!queue.empty())
      for (const auto& [place, unit] : units)
        count(queue, *unit.who, wanted_by(*unit.who), 1);
  for (const auto& [key, kind] : port_.line().all_kinds())
    if (!kind.units.empty())
      count(kind.queue, *kind.units.begin()->second.who, kind.wanted, std::ssize(kind.units));
  return found;
}

void scheduling_cycle::share_out() {
  auto in = port_.queue_input();
  const auto beside = in.pending;
  add_demand(in.pending, port_.line().asked());
  shares_.emplace(in);
  if (!shares_->anybody_uses_too_much())
    return;
  // Somebody may have to go, so demand has to be real.
  in.pending = beside;
  add_demand(in.pending, admissible());
  shares_.emplace(in);
  // A queue none of whose units fits into what it would deserve deserves it in vain: others may
  // have it.
  for (bool changed = true; changed;) {
    changed = false;
    for (auto& [queue, asked] : in.pending) {
      const auto leaf = shares_->leaf_of(queue);
      if (asked.empty() || leaf == no_vertex || beside.contains(queue) || admits_any(leaf, queue))
        continue;
      asked.clear();
      changed = true;
    }
    if (changed)
      shares_.emplace(in);
  }
}

bool scheduling_cycle::admits_any(std::size_t leaf, std::string_view queue) const {
  const auto fits = [&](const preemptor& who) {
    return shares_->is_entitled(leaf, asked_by(*shares_, who));
  };
  if (const auto fresh = port_.line().fresh().find(queue); fresh != port_.line().fresh().end())
    for (const auto& [place, unit] : fresh->second)
      if (fits(*unit.who))
        return true;
  for (const auto& [key, kind] : port_.line().all_kinds())
    if (kind.queue == queue && !kind.units.empty() && fits(*kind.units.begin()->second.who))
      return true;
  return false;
}

void scheduling_cycle::wake_kinds(const service_place* behind) {
  const auto [freed, arrived] = port_.take_changes();
  const auto over = port_.decisions_over();
  const auto woken = port_.line().wake([&, &freed = freed, &arrived = arrived](
                                         const waiting_line::kind& of) {
    const auto leaf = shares_->leaf_of(of.queue);
    if (leaf == no_vertex)
      return true;
    const auto asked = asked_by(*shares_, *of.units.begin()->second.who);
    const bool within_limits = shares_->limits_in_the_way(leaf, asked).empty();
    const bool entitled = shares_->is_entitled(leaf, asked);
    const bool borrows = entitled || shares_->may_borrow(leaf, asked);
    const bool crowded = shares_->anybody_uses_too_much(asked);
    const auto& was = *of.aside;
    if ((within_limits && !was.within_limits) || (entitled && !was.entitled)
        || (borrows && !was.may_borrow) || (entitled && crowded && !was.crowded))
      return true;
    return could_help(of, freed) || (was.decisions > port_.line().settled() && could_help(of, arrived));
  });
  port_.line().settle(over);
  if (behind == nullptr)
    return;
  for (const auto& key : woken) {
    const auto& of = port_.line().all_kinds().find(key)->second;
    if (auto next = waiting_line::next_of(of, *behind)) {
      auto& line = lines_[of.queue];
      line.leaf = shares_->leaf_of(of.queue);
      line.heap.push_back({next->first, next->second, key});
      std::push_heap(line.heap.begin(), line.heap.end());
      look_at_front(line);
    }
  }
}

/// Whether one of the nodes could take a pod of the kind once all have gone whom it may take.
bool scheduling_cycle::could_help(const waiting_line::kind& of,
                                  std::span<const node_row> nodes) const {
  const auto& view = port_.nodes();
  const auto& who = *of.units.begin()->second.who;
  const auto level = of.aside->entitled ? std::numeric_limits<std::int64_t>::max()
                                        : std::int64_t{who.priority} - 1;
  return std::ranges::any_of(who.groups, [&](const wanted_group& group) {
    const auto asked = view.columns(group.pods.front().requests);
    return asked && std::ranges::any_of(nodes, [&](node_row n) {
      return n < view.node_rows() && view.present(n) && view.usable(n)
             && could_take(view, n, *asked, who.may_preempt ? level : nobody_goes);
    });
  });
}

void scheduling_cycle::line_up() {
  for (const auto& [queue, units] : port_.line().fresh()) {
    auto& line = lines_[queue];
    for (const auto& [place, unit] : units)
      line.heap.push_back({place, unit, {}});
  }
  for (const auto& [key, kind] : port_.line().all_kinds())
    if (!kind.aside && !kind.units.empty())
      lines_[kind.queue].heap.push_back(
        {kind.units.begin()->first, kind.units.begin()->second, key});
  for (auto& [queue, line] : lines_) {
    std::make_heap(line.heap.begin(), line.heap.end());
    line.leaf = queue.empty() ? no_vertex : shares_->leaf_of(queue);
    look_at_front(line);
  }
}

void scheduling_cycle::look_at_front(queue_line& line) {
  line.asked.clear();
  if (lines_.size() > 1 && !line.heap.empty() && line.leaf != no_vertex)
    line.asked = asked_by(*shares_, *line.heap.front().unit.who);
}

/// The line whose first is served next: of those whose first is within what its queue deserves, else
/// of all, the one whose first comes first.
scheduling_cycle::queue_line* scheduling_cycle::next_line() {
  queue_line* best = nullptr;
  bool best_entitled = false;
  for (auto& [queue, line] : lines_) {
    if (line.heap.empty())
      continue;
    if (lines_.size() == 1)
      return &line;
    if (line.asked.empty()) // there was no other line yet
      look_at_front(line);
    const bool entitled =
      line.leaf == no_vertex || shares_->is_entitled(line.leaf, line.asked);
    if (best == nullptr || (entitled && !best_entitled)
        || (entitled == best_entitled && line.heap.front().place < best->heap.front().place)) {
      best = &line;
      best_entitled = entitled;
    }
  }
  return best;
}

void scheduling_cycle::advance(queue_line& line, bool parked) {
  std::pop_heap(line.heap.begin(), line.heap.end());
  const auto served = std::move(line.heap.back());
  line.heap.pop_back();
  if (!served.kind.empty() && !parked) {
    const auto& kinds = port_.line().all_kinds();
    const auto of = kinds.find(served.kind);
    if (of != kinds.end() && !of->second.aside)
      if (auto next = waiting_line::next_of(of->second, served.place)) {
        line.heap.push_back({next->first, next->second, served.kind});
        std::push_heap(line.heap.begin(), line.heap.end());
      }
  }
  look_at_front(line);
}

/// A decision with victims may have taken those that the unit was to join, and so may whatever came
/// while shards were asked. Placements leave all others as they were, but for more of a gang.
bool scheduling_cycle::lacks_its_pods(const waiting_unit& unit) {
  const bool as_it_was =
    !others_may_have_gone_ && unit.record
    && std::ranges::none_of(unit.record->spec->groups, &pod_group::is_gang);
  return as_it_was || port_.still_lacks(*unit.who);
}

bool scheduling_cycle::may_park(const waiting_unit& unit) const {
  return settings_.group.policy != group_policy::sessions && !port_.time_matters() && unit.record
         && !is_bound_to_a_node(*unit.who);
}

bool scheduling_cycle::serve(const waiting_unit& unit, bool& parked) {
  if (!lacks_its_pods(unit))
    return true;
  if (may_park(unit) && port_.line().joins_parked(unit)) {
    parked = true;
    port_.waits(unit, plan{});
    return true;
  }
  const bool sessions = settings_.group.policy == group_policy::sessions;
  auto made = judge_->judge(unit, !sessions || front_.has(*unit.who));
  if (made.asks) {
    others_may_have_gone_ = true;
    return false;
  }
  if (made.quota.empty())
    front_.served(*unit.who, made.made);
  if (is_bound_to_a_node(*unit.who) && made.quota.empty())
    port_.reserve(*unit.who, made.made);
  if (made.made.look_again != no_time)
    port_.look_again(made.made.look_again);
  if (!made.gives_up.empty()) {
    port_.take_holds(unit, made.gives_up, std::move(made.made));
    return true;
  }
  if (made.made.assignments.empty()) {
    if (may_park(unit)) {
      const auto asked = asked_by(*shares_, *unit.who);
      port_.line().park(unit, {.entitled = made.entitled,
                               .may_borrow = made.may_borrow,
                               .within_limits = made.within_limits,
                               .crowded = shares_->anybody_uses_too_much(asked),
                               .decisions = port_.decisions_made()});
      parked = port_.line().parked(unit) != nullptr;
    }
    if (!made.quota.empty())
      made.made.why.summary = std::move(made.quota);
    port_.waits(unit, std::move(made.made));
    return true;
  }
  decided_ = true;
  for (const auto& one : judge_->movements_of(unit, made.made))
    shares_->add(one.leaf, one.amounts, one.sign);
  if (made.made.victims.empty() && made.made.result == plan::outcome::placed) {
    port_.place(unit, std::move(made.made));
  } else {
    others_may_have_gone_ = made_room_ = true;
    port_.preempt(unit, std::move(made.made));
  }
  return true;
}

std::string scheduling_cycle::why_waits(const waiting_unit& unit, bool at_front) {
  if (!shares_)
    share_out();
  auto made = unit_judge{port_, settings_, *shares_}.judge(unit, at_front);
  return made.quota.empty() ? std::move(made.made.why.summary) : std::move(made.quota);
}

} // namespace reprieve
