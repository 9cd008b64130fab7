#include "tests/engine/worlds/plan_reading.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace reprieve::tests {

using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

TEST(budgets, who_would_break_one_is_put_back_before_the_more_important) {
  const auto view = cluster()
                      .node("n1", gpu(8))
                      .running("web", prio(1), gpu(4), label{"app", "web"})
                      .running("batch", prio(5), gpu(4))
                      .budget("web", {"app", "web"}, 1)
                      .view();

  const auto made = decide(view, lone("new", prio(10), gpu(4)), open_settings());

  EXPECT_THAT(victims_of(made), UnorderedElementsAre("batch"));
  EXPECT_EQ(made.scored.budget_violations, 0);
  EXPECT_THAT(reason_for(made.why.reprieved, "web"), HasSubstr("disruption budget"));
}

TEST(budgets, a_budget_is_broken_where_nothing_else_helps) {
  const auto view = cluster()
                      .node("n1", gpu(8))
                      .running("web", prio(1), gpu(8), label{"app", "web"})
                      .budget("web", {"app", "web"}, 1)
                      .view();

  const auto made = decide(view, lone("new", prio(10), gpu(4)), open_settings());

  ASSERT_EQ(made.victims.size(), 1u);
  EXPECT_TRUE(made.victims[0].violates_budget);
  EXPECT_EQ(made.scored.budget_violations, 1);
  EXPECT_THAT(made.victims[0].reason, HasSubstr("exceeds a disruption budget"));
}

TEST(budgets, a_node_that_breaks_none_wins_over_one_with_less_important_victims) {
  const auto view = cluster()
                      .node("n1", gpu(8))
                      .running("web", prio(1), gpu(8), label{"app", "web"})
                      .node("n2", gpu(8))
                      .running("batch", prio(9), gpu(8))
                      .budget("web", {"app", "web"}, 1)
                      .view();

  const auto made = decide(view, lone("new", prio(10), gpu(8)), open_settings());

  EXPECT_THAT(victims_of(made), UnorderedElementsAre("batch"));
  EXPECT_THAT(outcome_of(made, "n1").reason, HasSubstr("takes 1 pod more than budgets allow"));
}

TEST(budgets, are_consumed_in_importance_order_so_the_less_important_are_put_back_first) {
  auto built = cluster().node("n1", gpu(8));
  built.running("web-a", prio(5), gpu(4), label{"app", "web"});
  built.running("web-b", prio(1), gpu(4), label{"app", "web"});
  built.budget("web", {"app", "web"}, 1);

  auto plain = open_settings();
  plain.placing = placing_rule::plain;
  const auto made = decide(built.view(), lone("new", prio(10), gpu(4)), plain);

  EXPECT_THAT(victims_of(made), UnorderedElementsAre("web-a"));
}

TEST(budgets, are_no_reason_to_take_the_more_important_of_two_that_one_budget_counts) {
  auto built = cluster().node("n1", gpu(8));
  built.running("web-a", prio(5), gpu(4), label{"app", "web"});
  built.running("web-b", prio(1), gpu(4), label{"app", "web"});
  built.budget("web", {"app", "web"}, 1);

  const auto made = decide(built.view(), lone("new", prio(10), gpu(4)), open_settings());

  EXPECT_THAT(victims_of(made), UnorderedElementsAre("web-b"));
  EXPECT_EQ(made.scored.budget_violations, 0);
}

TEST(budgets, a_victim_within_its_budget_breaks_nothing_whoever_else_could_have_gone) {
  auto built = cluster().node("n1", gpu(8));
  built.running("web-a", prio(5), gpu(2), label{"app", "web"});
  built.running("web-b", prio(1), gpu(6), label{"app", "web"});
  built.budget("web", {"app", "web"}, 1);

  const auto made = decide(built.view(), lone("new", prio(10), gpu(6)), open_settings());

  EXPECT_THAT(victims_of(made), UnorderedElementsAre("web-b"));
  EXPECT_EQ(made.scored.budget_violations, 0);
}

TEST(budgets, pods_of_a_group_on_other_nodes_count) {
  const auto view = cluster()
                      .node("n1", gpu(8))
                      .running("batch", prio(5), gpu(4))
                      .node("n2", gpu(8))
                      .running("filler", prio(50), gpu(4))
                      .group("web", {"n1", "n2"}, prio(1), gpu(4), label{"app", "web"})
                      .budget("web", {"app", "web"}, 1)
                      .view();

  const auto made = decide(view, lone("new", prio(10), gpu(4)), open_settings());

  EXPECT_THAT(victims_of(made), UnorderedElementsAre("batch"))
    << "one pod of web may go, but its group goes whole";
}

TEST(budgets, every_pod_that_goes_beyond_one_is_a_violation) {
  const auto view = cluster()
                      .node("n1", gpu(8))
                      .node("n2", gpu(8))
                      .node("n3", gpu(8))
                      .group("web", {"n1", "n2", "n3"}, prio(1), gpu(8), label{"app", "web"})
                      .budget("web", {"app", "web"}, 2)
                      .view();

  const auto made = decide(view, lone("new", prio(10), gpu(8)), open_settings());

  EXPECT_EQ(made.scored.budget_violations, 2) << "one of three may go";
}

TEST(budgets, keep_a_gang_off_nodes_it_does_not_need) {
  const auto view = cluster()
                      .node("n1", gpu(8))
                      .running("web", prio(1), gpu(8), label{"app", "web"})
                      .node("n2", gpu(8))
                      .running("a", prio(5), gpu(4))
                      .running("b", prio(5), gpu(4))
                      .budget("web", {"app", "web"}, 1)
                      .view();

  const auto made = decide(view, gang("new", prio(10), members(2, gpu(4))), open_settings());

  EXPECT_EQ(made.scored.budget_violations, 0);
  EXPECT_THAT(victims_of(made), UnorderedElementsAre("a", "b"));
}

TEST(budgets, in_the_plain_setting_are_counted_as_if_all_candidates_went) {
  // `big`, on a node that is too small for the gang, comes first and would use up the budget.
  const auto view = cluster()
                      .node("n1", gpu(4))
                      .running("big", prio(5), gpu(4), label{"app", "x"})
                      .node("n2", gpu(8))
                      .running("low", prio(1), gpu(8), label{"app", "x"})
                      .budget("x", {"app", "x"}, 1)
                      .view();
  const auto who = gang("new", prio(10), members(1, gpu(8)));
  auto plainly = open_settings();
  plainly.placing = placing_rule::plain;

  const auto made = decide(view, who, open_settings());
  const auto plain = decide(view, who, plainly);

  EXPECT_EQ(victims_of(made), victims_of(plain));
  EXPECT_EQ(made.scored.budget_violations, 0);
  EXPECT_EQ(plain.scored.budget_violations, 1);
}

} // namespace reprieve::tests
