#include "preemption/pipeline/scoring.hpp"
#include "tests/engine/worlds/exhaustive.hpp"
#include "tests/engine/worlds/plan_reading.hpp"
#include "tests/engine/worlds/random_cluster.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace reprieve::tests {

namespace {

bool small_enough(const random_case& drawn) {
  std::set<portion_id> below;
  for (const auto& p : drawn.in.all_pods())
    if (p.priority < drawn.who.priority)
      below.insert(portion_of(p));
  return below.size() <= exhaustive_search::most_candidates;
}

/// A preemptor of which every pod must come, so that where each sits is part of the decision.
random_case small_case(std::uint64_t seed) {
  auto drawn = case_of_seed(seed, {.immovable = false, .leaving = false}, draw_anyone);
  for (auto& group : drawn.who.groups)
    group.needed = static_cast<std::int32_t>(group.pods.size());
  return drawn;
}

} // namespace

TEST(engine, is_nearly_always_as_good_as_the_best_of_all_decisions) {
  constexpr int enough = 1'500;
  const auto settings = open_settings();
  int decisions = 0;
  int as_cheap = 0;
  int as_good = 0;
  double excess = 0; // of pods that go, as parts of those that have to
  for (std::uint64_t seed = 0; decisions < enough; ++seed) {
    const auto drawn = small_case(seed);
    if (!small_enough(drawn))
      continue;
    const auto best = exhaustive_search{drawn.in, drawn.who, settings.now}.best();
    const auto made = decide(drawn.in.view(), drawn.who, settings);

    ASSERT_TRUE(best || made.result == plan::outcome::infeasible) << "seed " << seed;
    if (!best || best->pods == 0)
      continue;
    ++decisions;
    if (made.result == plan::outcome::infeasible)
      continue;
    ASSERT_EQ(made.result, plan::outcome::preempts) << "seed " << seed;
    as_cheap += cheaper(*best, made.scored, minimise::pods) ? 0 : 1;
    as_good += better(*best, made.scored, minimise::pods) ? 0 : 1;
    excess += static_cast<double>(made.scored.pods - best->pods) / static_cast<double>(best->pods);
  }
  fmt::print("{} decisions: {:.2f} % cost as little as can be, {:.2f} % with start times; "
             "{:.2f} % more pods go on average\n",
             decisions, 100.0 * as_cheap / decisions, 100.0 * as_good / decisions,
             100 * excess / decisions);
  EXPECT_GE(as_cheap, enough * 99 / 100);
  EXPECT_GE(as_good, enough * 99 / 100);
  EXPECT_LE(excess, enough * 0.02);
}

} // namespace reprieve::tests
