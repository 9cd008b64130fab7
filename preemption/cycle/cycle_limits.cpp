#include "preemption/cycle/cycle.hpp"
#include "preemption/policies/queues/limit_exchange.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>
#include <tuple>
#include <utility>

// The queue stage of a cycle, and who gives its nomination up within a limit.

namespace reprieve {

namespace {

/// The queue and those above it, from below.
std::vector<std::string_view> with_those_above(const by_name<queue>& queues,
                                               std::string_view name) {
  std::vector<std::string_view> found;
  for (const auto* at = find(queues, name); at != nullptr && found.size() <= queues.size();
       at = find(queues, at->parent))
    found.push_back(at->name);
  return found;
}

/// Whether the queue's limit, and those above it, would admit so much if nobody else ran.
bool limits_admit(const by_name<queue>& queues, std::string_view name, const resources& amounts) {
  for (const auto above : with_those_above(queues, name))
    for (const auto& [resource, most] : find(queues, above)->limit)
      if (amount_of(amounts, resource) > most)
        return false;
  return true;
}

/// Queues below which more stays than their limits admit.
std::set<std::string_view> exceeded_limits(const queue_stage_result& of,
                                           const by_name<queue>& queues) {
  std::set<std::string_view> found;
  for (const auto& one : of.queues)
    if (const auto* at = find(queues, one.queue); at != nullptr && !one.own_pods)
      for (const auto& line : one.lines)
        if (const auto limit = at->limit.find(line.resource);
            limit != at->limit.end() && line.used - line.leaving > limit->second)
          found.insert(at->name);
  return found;
}

/// The decisions that are to place a gang, or a pod, in one of these queues that its limits can
/// never admit: it would have to go as soon as it starts. Whom they stop and who was told leaves
/// all the same.
std::vector<given_up> never_admitted(cycle_port& port, const by_name<queue>& queues,
                                     const std::set<std::string_view>& of) {
  std::vector<given_up> which;
  for (const auto& held : port.holds_below(std::numeric_limits<std::int32_t>::max())) {
    std::map<std::tuple<std::string_view, std::string_view, std::int32_t, std::int32_t>, resources>
      units;
    for (const auto& p : held.nominated)
      if (of.contains(port.queue_of(p.workload)))
        add_taken(
          units[{p.workload, p.group, p.replica, port.is_gang(p.workload, p.group) ? 0 : p.index}],
          p);
    for (const auto& [unit, takes] : units)
      if (const auto queue = port.queue_of(std::get<0>(unit));
          !limits_admit(queues, queue, takes)) {
        which.push_back(
          {held.id, fmt::format("a limit of queue {} can't admit what it would place", queue)});
        break;
      }
  }
  return which;
}

} // namespace

bool scheduling_cycle::run_queue_stage(queue_stage_input& in) {
  in.now = settings_.now;
  in.limits[settings_.group.name] = settings_.group.limits;
  in.recent_preemptions = {settings_.recent_preemptions.begin(),
                           settings_.recent_preemptions.end()};
  in.pending = demand_;
  queues_ = reprieve::run_queue_stage(in);
  std::vector<std::string> giving;
  for (const auto& one : queues_.queues)
    if (std::ranges::any_of(one.lines,
                            [](const reprieve::queue_line& line) { return line.to_free > 0; }))
      giving.push_back(one.queue);
  if (giving.empty())
    return false;
  std::ranges::sort(giving);
  giving.erase(std::ranges::unique(giving).begin(), giving.end());
  const auto listed = with_who_share_limits(in, giving);
  auto with_pods = in;
  for (const auto& queue : listed)
    with_pods.totals.erase(queue);
  with_pods.pods = port_.pods_in(listed);
  const auto& view = port_.nodes();
  for (auto& p : with_pods.pods) {
    const auto n = view.find_node(p.node);
    p.closed = n != no_row && !view.usable(n);
  }
  queues_ = reprieve::run_queue_stage(with_pods);
  if (const auto given_up = never_admitted(port_, with_pods.queues, {giving.begin(), giving.end()});
      !given_up.empty()) {
    take_back_nominations(given_up); // who has to go besides shows then
    return true;
  }
  std::vector<given_up> given_up;
  for (const auto& one : queues_.queues)
    if (!one.victims.empty())
      for (auto& held : nominations_to_take_back(one, with_pods.queues))
        if (std::ranges::find(given_up, held.decision, &given_up::decision) == given_up.end())
          given_up.push_back(std::move(held));
  if (!given_up.empty()) {
    take_back_nominations(given_up);
    return true;
  }
  for (const auto& one : queues_.queues) {
    if (one.victims.empty())
      continue;
    port_.take_back(one);
    decided_ = true;
    others_may_have_gone_ = true;
  }
  return decided_;
}

void scheduling_cycle::take_back_nominations(const std::vector<given_up>& which) {
  let_wait(which);
  port_.take_back_nominations(which);
  decided_ = true;
  others_may_have_gone_ = true;
}

/// Whoever had room by these decisions has its turn in the next cycle.
void scheduling_cycle::let_wait(std::span<const given_up> which) {
  // They were found among these, which are known still.
  for (const auto& held : port_.holds_below(last_.place.priority))
    if (std::ranges::find(which, held.id, &given_up::decision) != which.end())
      for (const auto& p : held.nominated)
        lost_their_room_.insert(p.workload);
  port_.look_again(settings_.now);
}

/// Before somebody goes who runs, those of the queue do not come who are not more important, wait
/// for room and have stopped nobody for it; of others below a limit that both exceed those who are
/// less important. The least important first, then the newest, as many as there is too much.
std::vector<given_up> scheduling_cycle::nominations_to_take_back(const queue_outcome& from,
                                                                 const by_name<queue>& queues) {
  const auto most = std::ranges::max(from.victims, {}, &victim::priority).priority;
  std::set<std::string_view> limits;
  const auto exceeded = exceeded_limits(queues_, queues);
  for (const auto above : with_those_above(queues, from.queue))
    if (exceeded.contains(above))
      limits.insert(above);
  const auto gives_way = [&](const pod& p) {
    const auto name = port_.queue_of(p.workload);
    if (name == from.queue)
      return p.priority <= most;
    const auto* other = find(queues, name);
    return p.priority < most && other != nullptr && other->cap_by_demand
           && std::ranges::any_of(with_those_above(queues, name),
                                  [&](std::string_view above) { return limits.contains(above); });
  };
  std::vector<const held_decision*> found;
  for (const auto& held : port_.holds_below(std::numeric_limits<std::int32_t>::max()))
    if (!held.stops_others && waits_for_room(port_.nodes(), held)
        && std::ranges::all_of(held.nominated, gives_way))
      found.push_back(&held);
  std::ranges::sort(found, [](const held_decision* a, const held_decision* b) {
    const auto strength = [](const held_decision* of) {
      return std::ranges::max(of->nominated, {}, &pod::priority).priority;
    };
    return std::pair(strength(a), std::string_view(b->id))
           < std::pair(strength(b), std::string_view(a->id));
  });
  resources too_much;
  for (const auto& line : from.lines)
    if (line.to_free > 0)
      too_much[line.resource] = line.to_free;
  std::vector<given_up> which;
  for (const auto* held : found) {
    resources placed;
    for (const auto& p : held->nominated)
      add_taken(placed, p);
    bool helps = false;
    for (auto& [resource, amount] : too_much)
      if (const auto less = amount_of(placed, resource); less > 0 && amount > 0) {
        amount -= less;
        helps = true;
      }
    if (helps)
      which.push_back(
        {held->id, fmt::format("queue {} may not keep what it would use", from.queue)});
  }
  return which;
}

/// What is kept for those whose turn comes before the unit's. With what is kept for them its queue
/// may have nothing left of what it deserves, and its turn come later.
void scheduling_cycle::count_kept(const waiting_unit& unit, std::span<const kept_part> kept) {
  const auto leaf = shares_->leaf_of(unit.queue());
  if (leaf == no_vertex || kept.empty())
    return;
  const auto place = place_of(unit, 0);
  const auto asked = asked_by(*shares_, *unit.who);
  const auto own = [&] {
    if (shares_->is_entitled(leaf, asked))
      return precedence::is_entitled;
    return is_any_entitled(unit.queue(), leaf, place) ? precedence::has_entitled
                                                      : precedence::others;
  };
  const auto comes_before = [&](std::size_t at, const turn_of& turn) {
    if (at == leaf)
      return turn.place < place;
    const auto before = own();
    return turn.before > before || (turn.before == before && turn.place < place);
  };
  for (const auto& one : kept) // in the order of their turns
    if (const auto at = shares_->leaf_of(one.queue); at != no_vertex && comes_before(at, one.turn))
      shares_->add(at, shares_->columns_of(one.takes), 1);
}

} // namespace reprieve
