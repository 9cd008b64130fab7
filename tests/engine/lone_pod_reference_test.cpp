#include "preemption/scoring.hpp"
#include "tests/engine/plan_reading.hpp"
#include "tests/engine/random_cluster.hpp"
#include "tests/support/plain_room.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <optional>

/// What the seed says of a lone pod, written down plainly for clusters of single pods: node by node
/// all candidates are removed, those that budgets count on are put back, then the others.
namespace reprieve::tests {

namespace {

struct single_node_reference {
  const cluster& in;
  const preemptor& who;

  static bool more_important(const pod* a, const pod* b) {
    return std::tuple{-a->priority, a->started, a->workload}
           < std::tuple{-b->priority, b->started, b->workload};
  }

  /// The pods that go from the node, or nothing where it is infeasible.
  std::optional<std::vector<const pod*>> victims_on(const node& n) const {
    auto room = room_of(n);
    std::vector<const pod*> candidates;
    for (const auto& p : in.all_pods()) {
      if (p.node != n.name)
        continue;
      if (p.priority < who.priority)
        candidates.push_back(&p);
      else
        take(room, p.requests);
    }
    take(room, who.groups.front().pods.front().requests);
    if (overdrawn(room))
      return std::nullopt;
    std::ranges::sort(candidates, more_important);
    std::vector<const pod*> victims;
    const auto put_back = [&](const pod* p) {
      take(room, p->requests);
      if (overdrawn(room)) {
        give(room, p->requests);
        victims.push_back(p);
      }
    };
    const auto exceeding = exceeding_budgets(candidates);
    for (const auto* p : candidates)
      if (exceeding.contains(p))
        put_back(p);
    for (const auto* p : candidates)
      if (!exceeding.contains(p))
        put_back(p);
    std::ranges::sort(victims, more_important);
    return victims;
  }

  std::set<const pod*> exceeding_budgets(const std::vector<const pod*>& going) const {
    std::set<const pod*> exceeding;
    for (const auto& budget : in.all_budgets()) {
      auto left =
        std::ranges::count_if(in.all_pods(),
                              [&](const pod& p) { return matches(budget.match_labels, p.labels); })
        - *budget.min_available;
      for (const auto* p : going)
        if (matches(budget.match_labels, p->labels) && left-- <= 0)
          exceeding.insert(p);
    }
    return exceeding;
  }

  score score_of(const std::vector<const pod*>& victims) const {
    score s;
    s.budget_violations = std::ssize(exceeding_budgets(victims));
    s.highest_victim_priority = victims.front()->priority;
    s.earliest_start_of_most_important = victims.front()->started;
    for (const auto* p : victims) {
      s.priority_sum += p->priority + (std::int64_t{1} << 31);
      s.work_lost += amount_of(p->requests, "gpu") * (at(3600) - p->started).count();
    }
    s.work_lost /= 1'000'000'000'000;
    s.pods = std::ssize(victims);
    return s;
  }

  static void take(resources& room, const resources& request) {
    for (const auto& [name, value] : taken_by(request))
      room[name] -= value;
  }
  static void give(resources& room, const resources& request) {
    for (const auto& [name, value] : taken_by(request))
      room[name] += value;
  }
  static bool overdrawn(const resources& room) {
    return std::ranges::any_of(room, [](const auto& one) { return one.second < 0; });
  }
};

} // namespace

TEST(lone_pod, is_decided_as_by_the_plain_algorithm_on_every_node) {
  int compared = 0;
  const cluster_traits single_pods{.immovable = false, .groups = false, .leaving = false};
  for_random_cases(single_pods, draw_lone_pod, [&](const cluster& in, const preemptor& who) {
    auto plainly = open_settings();
    plainly.placing = placing_rule::plain;
    const auto best = decide(in.view(), who, open_settings());
    const auto made = decide(in.view(), who, plainly);
    if (made.result == plan::outcome::placed)
      return;
    const single_node_reference reference{in, who};
    for (const auto& n : in.all_nodes()) {
      const auto victims = reference.victims_on(n);
      RC_ASSERT(outcome_of(made, n.name).feasible == victims.has_value());
      if (!victims)
        continue;
      const auto& ours = outcome_of(made, n.name);
      const auto plain = reference.score_of(*victims);
      if (ours.victims > 0)
        RC_ASSERT(ours.scored == plain);
      RC_ASSERT(made.result == plan::outcome::preempts);
      RC_ASSERT(!better(plain, made.scored, minimise::pods));
      RC_ASSERT(best.scored.budget_violations <= plain.budget_violations);
      ++compared;
    }
  });
  EXPECT_GT(compared, 300);
}

} // namespace reprieve::tests
