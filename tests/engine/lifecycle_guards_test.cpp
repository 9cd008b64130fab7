#include "tests/engine/lifecycle_world.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

/// What keeps pods that could make room otherwise (DESIGN 3.3, 3.7).
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

} // namespace reprieve::tests
