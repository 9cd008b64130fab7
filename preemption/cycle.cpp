#include "preemption/cycle.hpp"

#include "preemption/engine.hpp"
#include "preemption/required_node.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace reprieve {

namespace {

bool gives_up(const turn_taken& turn, const held_decision& held) {
  return std::ranges::find(turn.gives_up, held.id, &given_up::decision) != turn.gives_up.end();
}

plan not_tried(const preemptor& who, held_back why) {
  plan none;
  none.look_again = why.until;
  none.why.summary =
    fmt::format("{} (priority {}) is not tried now: {}", who.workload, who.priority, why.why);
  return none;
}

} // namespace

snapshot_cycle::snapshot_cycle(const snapshot& taken) : taken_(taken), pods_(taken.pods()) {
  for (const auto& p : pods_)
    if (takes_room(p.phase) && p.evicted_by.empty())
      count(p, 1);
}

void snapshot_cycle::serve(std::vector<preemptor> waiting, const plan_settings& settings,
                           front_of_line line) {
  auto view = taken_.view_of(settings.group.name);
  auto holds = holds_among(pods_);
  for (auto& who : waiting) {
    turn_taken turn{fmt::format("plan-{}", turns_.size() + 1), settings.group.name, who, {}, {}};
    turn.who.reserved_since = reserved_since(who);
    turn.who.at_front = settings.group.policy != group_policy::sessions || line.has(who);
    if (auto back = why_back(who, settings.now)) {
      turn.made = not_tried(who, *std::move(back));
    } else {
      auto found = decide_over_holds(view, turn.who, settings, holds);
      turn.made = std::move(found.made);
      turn.gives_up = std::move(found.gives_up);
      line.served(who, turn.made);
      count(turn, holds);
      carry_out(turn, pods_, view);
      if (!turn.gives_up.empty())
        holds = holds_among(pods_);
    }
    turns_.push_back(std::move(turn));
  }
}

front_of_line snapshot_cycle::line_in(const plan_settings& settings) const {
  front_of_line line;
  auto view = taken_.view_of(settings.group.name);
  for (const auto& who : taken_.pending(settings.group.name)) {
    if (is_bound_to_a_node(who) || why_back(who, settings.now))
      continue;
    const auto made = place(view, who, settings);
    line.served(who, made);
    if (line.session())
      break;
    carry_out(made, "ahead", pods_, view);
  }
  return line;
}

cluster_view snapshot_cycle::whole_view() const {
  auto view = taken_.whole_view();
  auto pods = taken_.pods();
  for (const auto& turn : turns_)
    carry_out(turn, pods, view);
  return view;
}

std::optional<held_back> snapshot_cycle::why_back(const preemptor& who, time_point now) const {
  const auto* record = find(taken_.workloads(), who.workload);
  if (record == nullptr)
    return std::nullopt;
  return why_held_back(*record, who, taken_.known().queues, used_, now);
}

time_point snapshot_cycle::reserved_since(const preemptor& who) const {
  const auto* record = find(taken_.workloads(), who.workload);
  if (record == nullptr || !is_bound_to_a_node(who))
    return no_time;
  const auto* known =
    taken_.reservation_for(record->spec->resource_group, who.groups.front().pods.front().uid);
  return known != nullptr ? known->since : record->status.submitted;
}

void snapshot_cycle::count(const pod& p, std::int64_t sign) {
  if (const auto* record = find(taken_.workloads(), p.workload))
    for (const auto& [resource, amount] : p.requests)
      used_[record->spec->queue][resource] += sign * amount;
}

/// As the coordinator counts: what is nominated is taken, what leaves is not.
void snapshot_cycle::count(const turn_taken& turn, std::span<const held_decision> holds) {
  for (const auto& held : holds)
    if (gives_up(turn, held)) {
      for (const auto& p : held.nominated)
        count(p, -1);
      for (const auto& p : held.untold)
        count(p, 1);
    }
  for (const auto& one : turn.made.assignments)
    count(one.placed, 1);
  std::set<std::string_view> going;
  for (const auto& one : turn.made.victims)
    for (const auto& p : one.pods)
      going.insert(p.uid);
  if (going.empty())
    return;
  for (const auto& p : pods_)
    if (going.contains(p.uid))
      count(p, -1);
}

void carry_out(const turn_taken& turn, std::vector<pod>& pods, cluster_view& view) {
  if (!turn.gives_up.empty())
    for (const auto& held : holds_among(pods))
      if (gives_up(turn, held)) {
        give_up(held, view);
        std::erase_if(pods, [&](const pod& p) {
          return p.phase == pod_phase::nominated && p.placed_by == held.id;
        });
        for (auto& p : pods)
          if (p.evicted_by == held.id && p.stop_told == no_time && !is_leaving(p.phase))
            p.evicted_by.clear();
      }
  if (auto held = hold_of_reservation(turn.who, turn.made)) {
    held->placed_by = turn.id;
    view.put_pod(*held);
  }
  carry_out(turn.made, turn.id, pods, view);
}

} // namespace reprieve
