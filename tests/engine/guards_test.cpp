#include "tests/engine/plan_reading.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace reprieve::tests {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

TEST(guards, a_workload_that_was_preempted_often_enough_stays) {
  const auto view = cluster()
                      .node("n1", gpu(8))
                      .running("often", prio(1), gpu(4))
                      .running("never", prio(2), gpu(4))
                      .view();
  auto settings = open_settings();
  settings.group.limits.preemptions_per_workload_per_hour = 2;
  settings.preempted_lately = {{"often", 2}, {"never", 1}};

  const auto made = decide(view, lone("new", prio(10), gpu(4)), settings);

  EXPECT_THAT(victims_of(made), UnorderedElementsAre("never"));
  EXPECT_THAT(reason_for(made.why.passed_over, "often"), HasSubstr("2 times in the last hour"));
}

TEST(guards, how_often_a_workload_was_preempted_does_not_matter_without_a_limit) {
  const auto view = cluster().node("n1", gpu(8)).running("often", prio(1), gpu(8)).view();
  auto settings = open_settings();
  settings.preempted_lately = {{"often", 100}};

  const auto made = decide(view, lone("new", prio(10), gpu(4)), settings);

  EXPECT_THAT(victims_of(made), UnorderedElementsAre("often"));
}

TEST(guards, a_workloads_own_minimum_runtime_counts_beside_the_groups) {
  auto young = [](pod& p) { p.minimum_runtime = std::chrono::hours{2}; };
  const auto view = cluster()
                      .node("n1", gpu(8))
                      .running("young", prio(1), gpu(4), started{0}, young)
                      .running("other", prio(2), gpu(4), started{0})
                      .view();
  auto settings = open_settings();
  settings.group.limits.minimum_runtime = std::chrono::minutes{1};

  const auto made = decide(view, lone("new", prio(10), gpu(4)), settings);

  EXPECT_THAT(victims_of(made), UnorderedElementsAre("other"));
  EXPECT_THAT(reason_for(made.why.passed_over, "young"), HasSubstr("minimum runtime of 2h"));
}

TEST(guards, a_search_that_reaches_its_budget_says_so_and_takes_the_best_so_far) {
  auto built = cluster();
  std::vector<std::string> nodes;
  for (int i = 0; i < 6; ++i) {
    nodes.push_back("n" + std::to_string(i));
    built.node(nodes.back(), gpu(4));
    built.running("a" + std::to_string(i), prio(1 + i % 3), gpu(2));
    built.running("b" + std::to_string(i), prio(1 + i % 2), gpu(2));
  }
  const auto view = built.view();
  const auto who = gang("new", prio(10), members(3, gpu(4)));
  auto settings = open_settings();
  settings.group.limits.search_budget = 8;

  const auto made = decide(view, who, settings);

  EXPECT_EQ(made.result, plan::outcome::preempts);
  EXPECT_TRUE(made.why.budget_reached);
  EXPECT_THAT(made.why.summary, HasSubstr("best found so far, budget reached"));
  const auto free = decide(view, who, open_settings());
  EXPECT_FALSE(free.why.budget_reached);
  EXPECT_LE(free.scored.pods, made.scored.pods);
}

TEST(guards, more_victims_than_a_decision_may_have_make_a_domain_infeasible) {
  auto built = cluster().node("n1", gpu(8));
  for (int i = 0; i < 4; ++i)
    built.running("w" + std::to_string(i), prio(1), gpu(2));
  auto settings = open_settings();
  settings.group.limits.victims_per_decision = 3;

  const auto made = decide(built.view(), lone("new", prio(10), gpu(8)), settings);

  EXPECT_EQ(made.result, plan::outcome::infeasible);
  EXPECT_THAT(made.victims, IsEmpty());
  EXPECT_THAT(outcome_of(made, "n1").reason,
              HasSubstr("needs 4 victims and a decision may have 3"));
}

} // namespace reprieve::tests
