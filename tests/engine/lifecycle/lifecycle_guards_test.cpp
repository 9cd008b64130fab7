#include "tests/engine/lifecycle/lifecycle_world.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

/// What keeps pods that could make room otherwise (docs/policies.md#lifecycle,
/// docs/policies.md#guards).
namespace reprieve::tests {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(lifecycle_guards, who_has_not_run_for_the_minimum_runtime_stays) {
  auto world = lifecycle_world(two_nodes()
                                 .pods("a", {"n1", "spare"}, prio(1), gpu(1), started{3000})
                                 .pods("b", {"n2", "spare"}, prio(9), gpu(1), started{0}),
                               {wanting("new", 10, 2, gpu(1))});
  world.limits().minimum_runtime = std::chrono::minutes{15};

  const auto plan = world.plan();

  EXPECT_THAT(victims_of(plan), ElementsAre("b-g0-0-0"));
  EXPECT_THAT(why_stays(plan, "a-g0-0-0"), HasSubstr("has run for 10m"));
}

TEST(lifecycle_guards, who_asks_for_a_minimum_runtime_gets_it) {
  const auto asks = [](pod& p) { p.minimum_runtime = std::chrono::hours{2}; };
  const auto world =
    lifecycle_world(two_nodes()
                      .pods("a", {"n1", "spare"}, prio(1), gpu(1), started{0}, asks)
                      .pods("b", {"n2", "spare"}, prio(9), gpu(1), started{0}),
                    {wanting("new", 10, 2, gpu(1))});

  const auto plan = world.plan();

  EXPECT_THAT(victims_of(plan), ElementsAre("b-g0-0-0"));
  EXPECT_THAT(why_stays(plan, "a-g0-0-0"), HasSubstr("minimum runtime of 2h"));
}

TEST(lifecycle_guards, an_opt_out_counts_only_where_it_is_a_veto) {
  auto world = lifecycle_world(two_nodes()
                                 .pods("a", {"n1", "spare"}, prio(1), gpu(1), opted_out())
                                 .pods("b", {"n2", "spare"}, prio(9), gpu(1)),
                               {wanting("new", 10, 1, gpu(1))});

  const auto without = world.plan();
  world.limits().opt_out_is_veto = true;
  const auto with = world.plan();

  EXPECT_THAT(victims_of(without), ElementsAre("a-g0-0-0"));
  EXPECT_THAT(victims_of(with), ElementsAre("b-g0-0-0"));
}

TEST(lifecycle_guards, they_do_not_stand_in_the_way_of_what_leaves_anyway) {
  auto world = lifecycle_world(
    two_nodes()
      .pods("a", {"n1"}, prio(1), gpu(1), opted_out(), started{3590}, terminating{3599, 30})
      .pods("b", {"n2", "spare"}, prio(1), gpu(1), opted_out(), started{3590}, surplus),
    {wanting("new", 10, 2, gpu(1))});
  auto& limits = world.limits();
  limits.opt_out_is_veto = true;
  limits.minimum_runtime = std::chrono::hours{1};
  limits.victims_per_decision = 0;

  EXPECT_THAT(victims_of(world.plan()), ElementsAre("a-g0-0-0", "b-g0-0-0"));
}

TEST(lifecycle_guards, a_match_scales_down_no_more_than_a_decision_may_have_victims) {
  auto world = lifecycle_world(cluster()
                                 .node("n1", gpu(2))
                                 .node("n2", gpu(2))
                                 .node("spare", gpu(64), not_ready())
                                 .pods("small", {"n1", "n1", "spare"}, prio(1), gpu(1))
                                 .pods("large", {"n2", "spare"}, prio(9), gpu(2)),
                               {wanting("new", 10, 1, gpu(2))});
  world.limits().victims_per_decision = 1;

  const auto first = world.plan();
  world.pod_of("large-g0-0-0").priority = 10;
  const auto none = world.plan();

  EXPECT_THAT(victims_of(first), ElementsAre("large-g0-0-0"));
  EXPECT_THAT(none.matches, IsEmpty());
}

TEST(lifecycle_guards, a_deployment_that_was_preempted_often_enough_is_not_scaled_down) {
  auto world = lifecycle_world(two_nodes()
                                 .pods("often", {"n1", "spare"}, prio(1), gpu(1))
                                 .pods("once", {"n2", "spare"}, prio(9), gpu(1)),
                               {wanting("new", 10, 2, gpu(1))});
  world.limits().preemptions_per_workload_per_hour = 2;
  world.given.recent_preemptions = {{"often", 2}, {"once", 1}};

  const auto plan = world.plan();

  EXPECT_THAT(victims_of(plan), ElementsAre("once-g0-0-0"));
  EXPECT_EQ(why_stays(plan, "often-g0-0-0"),
            "its workload was preempted 2 times in the last hour already");
}

TEST(lifecycle_guards, how_often_it_was_preempted_does_not_matter_without_a_limit) {
  auto world = lifecycle_world(two_nodes().pods("often", {"n1", "n2", "spare"}, prio(1), gpu(1)),
                               {wanting("new", 10, 1, gpu(1))});
  world.given.recent_preemptions = {{"often", 100}};

  EXPECT_EQ(world.plan().matches.size(), 1u);
}

TEST(lifecycle_guards, a_pod_that_was_scaled_away_stays_matched_though_that_was_once_too_often) {
  auto world = lifecycle_world(two_nodes()
                                 .pods("a", {"n1", "spare"}, prio(1), gpu(1))
                                 .pods("b", {"n2", "spare"}, prio(9), gpu(1)),
                               {wanting("new", 10, 1, gpu(1))});
  world.limits().preemptions_per_workload_per_hour = 1;
  const auto first = world.plan();
  world.act_on(first);
  world.given.recent_preemptions = {{"a", 1}};

  const auto second = world.plan();

  EXPECT_THAT(victims_of(first), ElementsAre("a-g0-0-0"));
  EXPECT_EQ(victims_of(second), victims_of(first));
  EXPECT_THAT(second.scale_downs, IsEmpty());
}

TEST(lifecycle_guards, what_the_search_budget_does_not_reach_stays_unmatched) {
  // Each node costs a unit, and so does each pod on it.
  auto world = lifecycle_world(two_nodes()
                                 .pods("a", {"n1", "spare"}, prio(5), gpu(1))
                                 .pods("b", {"n2", "spare"}, prio(1), gpu(1)),
                               {wanting("new", 10, 1, gpu(1))});
  const auto with = [&](std::int64_t budget) {
    world.given.clusters.clear();
    world.limits().search_budget = budget;
    return world.plan();
  };

  EXPECT_THAT(with(1).matches, IsEmpty());
  EXPECT_THAT(why_nothing(with(1), "new"), HasSubstr("search budget"));
  EXPECT_THAT(victims_of(with(3)), ElementsAre("a-g0-0-0")) << "the best so far";
  EXPECT_THAT(victims_of(with(4)), ElementsAre("b-g0-0-0"));
}

TEST(lifecycle_guards, each_deployment_has_the_search_budget_to_itself) {
  auto world = lifecycle_world(two_nodes()
                                 .pods("a", {"n1", "spare"}, prio(1), gpu(1))
                                 .pods("b", {"n2", "spare"}, prio(2), gpu(1)),
                               {wanting("first", 10, 1, gpu(1)), wanting("second", 9, 1, gpu(1))});
  world.limits().search_budget = 4;

  EXPECT_THAT(matches_of(world.plan()), ElementsAre("first@n1", "second@n2"));
}

TEST(lifecycle_guards, the_search_budget_is_used_up_in_the_order_of_names) {
  const auto with_nodes = [](const std::string& one, const std::string& other) {
    auto world = lifecycle_world(with_spare()
                                   .node(one, gpu(1))
                                   .node(other, gpu(1))
                                   .pods("a", {"n1", "spare"}, prio(5), gpu(1))
                                   .pods("b", {"n2", "spare"}, prio(1), gpu(1)),
                                 {wanting("new", 10, 1, gpu(1))});
    world.limits().search_budget = 2;
    return victims_of(world.plan());
  };

  EXPECT_THAT(with_nodes("n1", "n2"), ElementsAre("a-g0-0-0"));
  EXPECT_THAT(with_nodes("n2", "n1"), ElementsAre("a-g0-0-0"));
}

} // namespace reprieve::tests
