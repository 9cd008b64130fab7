#include "tests/engine/worlds/reference.hpp"

#include "preemption/pipeline/scoring.hpp"

#include <algorithm>
#include <utility>

namespace reprieve::tests {

std::optional<score> reference::decide() const {
  std::optional<score> best;
  for (const auto& nodes : of_.domains()) {
    if (place({}, nodes))
      return of_.score_of({}, {});
    if (const auto here = decide_in(nodes); here && (!best || better(*here, *best, minimise::pods)))
      best = here;
  }
  return best;
}

std::optional<score> reference::decide_in(const node_names& nodes) const {
  const auto candidates = of_.candidates_on(nodes);
  auto going = candidates;
  auto taken = place(going, nodes);
  if (!taken)
    return std::nullopt;
  // Those whose going breaks a budget stay if they can.
  ranks violating;
  for (const auto& [rank, over] : of_.pods_over_budget(going))
    if (over > 0)
      violating.insert(rank);
  put_back(violating, going, *taken);
  // The lowest threshold N: everybody above it stays, and the preemptor is placed.
  for (auto lowest = going.rbegin(); lowest != going.rend() && rule_ == placing_rule::cheapest;
       ++lowest) {
    const auto n = of_.priority_of(*lowest);
    auto up_to_n = going;
    std::erase_if(up_to_n, [&](auto rank) { return of_.priority_of(rank) > n; });
    if (auto placed = place(up_to_n, nodes)) {
      going = std::move(up_to_n);
      taken = std::move(placed);
      break;
    }
  }
  put_back(ranks{going}, going, *taken);
  // Pods beyond those needed come along where there is room.
  auto room = of_.room_left(going, *taken);
  for (const auto& group : of_.who.groups)
    for (auto i = std::size_t(group.needed); i < group.pods.size(); ++i)
      first_fit(room, nodes, group.pods[i].requests, *taken);
  return score_of(going, *taken, candidates);
}

/// The plain algorithm knows no cascade, and counts against budgets as if all candidates went.
score reference::score_of(const ranks& victims, const seats& taken, const ranks& candidates) const {
  auto total = of_.score_of(victims, taken);
  if (rule_ == placing_rule::plain) {
    total.cascades = false;
    total.budget_violations = 0;
    for (const auto& [rank, over] : of_.pods_over_budget(candidates))
      total.budget_violations += victims.contains(rank) ? over : 0;
  }
  return total;
}

std::optional<seats> reference::place(const ranks& gone, const node_names& nodes) const {
  auto room = of_.room_left(gone, {});
  seats taken;
  for (const auto& group : of_.who.groups)
    for (std::int32_t i = 0; i < group.needed; ++i)
      if (!first_fit(room, nodes, group.pods.front().requests, taken))
        return std::nullopt;
  return taken;
}

/// Whoever fits where it runs, most important first, does not go after all.
void reference::put_back(const ranks& tried, ranks& gone, const seats& taken) const {
  for (const auto rank : tried) {
    gone.erase(rank);
    if (std::ranges::any_of(of_.room_left(gone, taken),
                            [](const auto& one) { return overdrawn(one.second); }))
      gone.insert(rank);
  }
}

} // namespace reprieve::tests
