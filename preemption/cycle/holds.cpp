#include "preemption/cycle/holds.hpp"

#include "preemption/engine.hpp"
#include "preemption/policies/required_node/required_node.hpp"
#include "preemption/problem/problem.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace reprieve {

namespace {

std::int32_t strength_of(const held_decision& held) {
  return std::ranges::max(held.nominated, {}, &pod::priority).priority;
}

/// Whether the preemptor is more important than all that it places, and none of them is its own.
bool is_weaker(const held_decision& held, const preemptor& who) {
  return !held.nominated.empty() && strength_of(held) < who.priority
         && std::ranges::none_of(held.nominated,
                                 [&](const pod& p) { return p.workload == who.workload; });
}

/// Whether the preemptor may have the room, and could use some of it.
bool may_have(const problem& given, const held_decision& held) {
  const auto& view = given.view;
  return is_weaker(held, given.who) && std::ranges::any_of(held.nominated, [&](const pod& p) {
           const auto n = view.find_node(p.node);
           return n != no_row && given.filter.suits_any_group(n);
         });
}

/// Those of the holds, the weakest first, without which the lone pod has room on the node.
std::vector<const held_decision*> in_the_way_on(const problem& given, node_row n,
                                                std::span<const held_decision* const> weakest) {
  const auto& view = given.view;
  const auto asked = view.columns(given.who.groups.front().pods.front().requests);
  std::vector<const held_decision*> gone;
  if (!asked)
    return gone;
  const auto now = view.promised(n);
  std::vector<std::int64_t> left(now.begin(), now.end());
  const auto count = [&](const held_decision& held, std::int64_t sign) {
    for (const auto& p : held.nominated)
      if (const auto holds = view.find_node(p.node) == n ? view.columns(p.requests) : std::nullopt)
        for (std::size_t c = 0; c < left.size(); ++c)
          left[c] += sign * (*holds)[c];
  };
  for (const auto* held : weakest) {
    if (covers(left, *asked))
      break;
    count(*held, 1);
    gone.push_back(held);
  }
  if (!covers(left, *asked))
    return {};
  for (auto one = gone.rbegin(); one != gone.rend(); ++one) { // the strongest first
    count(**one, -1);
    if (!covers(left, *asked))
      count(**one, 1);
    else
      *one = nullptr;
  }
  std::erase(gone, nullptr);
  return gone;
}

/// Of two sets of holds, the one whose strongest is weaker, then that with fewer pods.
auto rank_of(const std::vector<const held_decision*>& some) {
  std::int32_t strongest = std::numeric_limits<std::int32_t>::min();
  std::size_t pods = 0;
  for (const auto* one : some) {
    strongest = std::max(strongest, strength_of(*one));
    pods += one->nominated.size();
  }
  return std::tuple(strongest, pods);
}

/// The strongest first; of two that are equally strong, the older.
void sort_by_strength(std::vector<const held_decision*>& some) {
  std::ranges::sort(some, [](const auto* a, const auto* b) {
    return std::pair(-std::int64_t{strength_of(*a)}, std::string_view(a->id))
           < std::pair(-std::int64_t{strength_of(*b)}, std::string_view(b->id));
  });
}

/// Those that wait for room and have stopped nobody for it.
std::vector<const held_decision*> waiting_holds(const problem& given,
                                                std::span<const held_decision> holds) {
  std::vector<const held_decision*> found;
  for (const auto& held : holds)
    if (!held.stops_others && may_have(given, held) && waits_for_room(given.view, held))
      found.push_back(&held);
  return found;
}

/// The strongest first.
std::vector<const held_decision*> weaker_holds(const cluster_view& view, const preemptor& who,
                                               const plan_settings& settings,
                                               std::span<const held_decision> holds) {
  std::vector<const held_decision*> found;
  if (holds.empty())
    return found;
  const problem given{view, who, settings};
  if (given.asked.groups.empty())
    return found;
  for (const auto& held : holds)
    if (may_have(given, held))
      found.push_back(&held);
  sort_by_strength(found);
  return found;
}

std::string why_given_up(const held_decision& held, const preemptor& who) {
  std::set<std::string_view> workloads;
  for (const auto& p : held.nominated)
    workloads.insert(p.workload);
  constexpr std::ptrdiff_t most = 3;
  const auto named = std::min(most, std::ssize(workloads));
  auto text =
    fmt::format("{} (priority {}) needs room that it holds for {}", who.workload, who.priority,
                fmt::join(workloads.begin(), std::next(workloads.begin(), named), ", "));
  if (const auto others = std::ssize(workloads) - named; others > 0)
    text += fmt::format(" and {} more", others);
  return text + fmt::format(" (priority {})", strength_of(held));
}

/// Finds out which holds have to be given up. The view is as it was once this has ended.
class reclaiming {
public:
  /// How a plan is made, and how the view is brought up to date for that.
  using planner = plan (*)(const cluster_view&, const preemptor&, const plan_settings&);
  using settler = void (*)(cluster_view&);
  /// Whether it is enough that these are given up, where there is room then; null where it is.
  using judge = std::function<bool(std::span<const held_decision* const>)>;

  reclaiming(cluster_view& view, const preemptor& who, const plan_settings& settings, planner make,
             settler settle, judge is_enough = {})
      : view_(view), who_(who), settings_(settings), make_(make), settle_(settle),
        is_enough_(std::move(is_enough)) {}
  ~reclaiming() {
    restore_all(given_up_);
  }
  reclaiming(const reclaiming&) = delete;
  reclaiming& operator=(const reclaiming&) = delete;

  /// `weaker` has the strongest first. Nothing is given up where that is no help.
  std::vector<given_up> run(std::span<const held_decision* const> weaker, plan& made) {
    give_up_all(weaker);
    if (!has_place())
      return {};
    put_back_half_by_half(weaker);
    made = make_(view_, who_, settings_);
    std::vector<given_up> told;
    for (const auto* held : given_up_)
      told.push_back({held->id, why_given_up(*held, who_)});
    std::ranges::sort(told, {}, &given_up::decision);
    return told;
  }

private:
  bool has_place() const {
    if (is_enough_ && !is_enough_(given_up_))
      return false;
    auto bare = settings_;
    bare.explained = depth::nothing;
    bare.tells_failure = false;
    return !make_(view_, who_, bare).assignments.empty();
  }

  /// Without all of these there is a place, with all of them there is none.
  void put_back_half_by_half(std::span<const held_decision* const> some) {
    if (some.size() == 1)
      return;
    const auto stronger = some.first(some.size() / 2);
    const auto weaker = some.subspan(some.size() / 2);
    put_back(stronger);
    put_back(weaker);
  }

  void put_back(std::span<const held_decision* const> some) {
    restore_all({some.begin(), some.end()});
    if (has_place())
      return;
    give_up_all(some);
    put_back_half_by_half(some);
  }

  void give_up_all(std::span<const held_decision* const> some) {
    for (const auto* held : some) {
      give_up(*held, view_);
      given_up_.push_back(held);
    }
    settle_(view_);
  }

  void restore_all(std::vector<const held_decision*> some) {
    for (const auto* held : some) {
      restore(*held, view_);
      std::erase(given_up_, held);
    }
    settle_(view_);
  }

  cluster_view& view_;
  const preemptor& who_;
  const plan_settings& settings_;
  planner make_;
  settler settle_;
  judge is_enough_;
  std::vector<const held_decision*> given_up_; ///< at the moment
};

} // namespace

std::vector<held_decision> holds_among(std::span<const pod> pods) {
  std::map<std::string_view, held_decision> holds;
  for (const auto& p : pods)
    if (p.phase == pod_phase::nominated && p.evicted_by.empty() && !p.placed_by.empty()) {
      auto& held = holds[p.placed_by];
      held.id = p.placed_by;
      held.nominated.push_back(p);
    }
  if (holds.empty())
    return {};
  for (const auto& p : pods) {
    if (p.phase == pod_phase::bound || p.phase == pod_phase::running)
      holds.erase(p.placed_by);
    const auto by = holds.find(p.evicted_by);
    if (by == holds.end())
      continue;
    by->second.stops_others = by->second.stops_others || takes_room(p.phase);
    if (p.stop_told == no_time && !is_leaving(p.phase))
      by->second.untold.push_back(p);
  }
  std::vector<held_decision> found;
  for (auto& [id, held] : holds)
    found.push_back(std::move(held));
  return found;
}

bool moves_with(const preemptor& unit, const held_decision& held) {
  std::set<std::string_view> uids;
  for (const auto& p : held.nominated)
    uids.insert(p.uid);
  std::size_t count = 0;
  for (const auto& group : unit.groups) {
    count += group.pods.size();
    for (const auto& p : group.pods)
      if (!uids.contains(p.uid))
        return false;
  }
  return count == uids.size() && !is_bound_to_a_node(unit);
}

bool waits_for_room(const cluster_view& view, const held_decision& held) {
  return std::ranges::any_of(held.nominated, [&](const pod& p) {
    const auto n = view.find_node(p.node);
    return n != no_row
           && std::ranges::any_of(view.free(n), [](std::int64_t left) { return left < 0; });
  });
}

void give_up(const held_decision& held, cluster_view& view) {
  for (const auto& p : held.nominated)
    view.remove_pod(p.uid);
  for (auto stays : held.untold) {
    stays.evicted_by.clear();
    view.put_pod(stays);
  }
}

void restore(const held_decision& held, cluster_view& view) {
  for (const auto& p : held.nominated)
    view.put_pod(p);
  for (const auto& p : held.untold)
    view.put_pod(p);
}

plan_over_holds find_room_over_waiting(cluster_view& view, const preemptor& who,
                                       const plan_settings& settings,
                                       std::span<const held_decision> holds) {
  auto bare = settings;
  bare.tells_failure = false;
  plan_over_holds found{find_room(view, who, bare), {}};
  if (!found.made.assignments.empty())
    return found;
  const problem given{view, who, settings};
  if (given.asked.groups.empty())
    return found;
  auto waiting = waiting_holds(given, holds);
  if (who.gang) {
    sort_by_strength(waiting);
    if (!waiting.empty())
      found.gives_up =
        reclaiming{view, who, settings, find_room, [](cluster_view& of) { of.settle_nodes(); }}.run(
          waiting, found.made);
    return found;
  }
  std::map<node_row, std::vector<const held_decision*>> by_node;
  for (const auto* held : waiting)
    for (const auto& p : held->nominated)
      if (const auto n = view.find_node(p.node); n != no_row && given.filter.suits_any_group(n))
        if (auto& there = by_node[n]; there.empty() || there.back() != held)
          there.push_back(held);
  std::vector<const held_decision*> best;
  for (auto& [n, there] : by_node) {
    std::ranges::sort(there, [](const auto* a, const auto* b) {
      return std::tuple(strength_of(*a), a->nominated.size(), std::string_view(b->id))
             < std::tuple(strength_of(*b), b->nominated.size(), std::string_view(a->id));
    });
    if (auto some = in_the_way_on(given, n, there);
        !some.empty() && (best.empty() || rank_of(some) < rank_of(best)))
      best = std::move(some);
  }
  if (best.empty())
    return found;
  for (const auto* one : best)
    give_up(*one, view);
  view.settle_nodes();
  found.made = find_room(view, who, settings);
  for (const auto* one : best)
    restore(*one, view);
  view.settle_nodes();
  if (!found.made.assignments.empty())
    for (const auto* one : best)
      found.gives_up.push_back({one->id, why_given_up(*one, who)});
  std::ranges::sort(found.gives_up, {}, &given_up::decision);
  return found;
}

plan_over_holds decide_over_holds(cluster_view& view, const preemptor& who,
                                  const plan_settings& settings,
                                  std::span<const held_decision> holds) {
  plan_over_holds found{decide(view, who, settings), {}};
  if (!found.made.assignments.empty())
    return found;
  const auto weaker = weaker_holds(view, who, settings, holds);
  if (!weaker.empty())
    found.gives_up =
      reclaiming{view, who, settings, decide, [](cluster_view& of) { of.settle(); }}.run(
        weaker, found.made);
  return found;
}

plan_over_holds
find_room_without(cluster_view& view, const preemptor& who, const plan_settings& settings,
                  std::span<const held_decision> holds,
                  const std::function<bool(std::span<const held_decision* const>)>& is_enough) {
  plan_over_holds found;
  std::vector<const held_decision*> weaker;
  for (const auto& held : holds)
    if (is_weaker(held, who))
      weaker.push_back(&held);
  sort_by_strength(weaker);
  if (!weaker.empty())
    found.gives_up =
      reclaiming{view, who, settings, find_room, [](cluster_view& of) { of.settle(); }, is_enough}.run(
        weaker, found.made);
  return found;
}

} // namespace reprieve
