#include "tests/engine/plan_reading.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace reprieve::tests {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;
using outcome = plan::outcome;

TEST(candidates, equal_priority_is_never_a_victim) {
  const auto view = cluster().node("n1", gpu(8)).running("peer", prio(10), gpu(8)).view();

  const auto made = decide(view, lone("new", prio(10), gpu(8)), open_settings());

  EXPECT_EQ(made.result, outcome::infeasible);
  EXPECT_THAT(reason_for(made.why.passed_over, "peer"), HasSubstr("10 is not below 10"));
}

TEST(candidates, a_group_counts_with_the_highest_priority_of_its_pods) {
  auto built = cluster().node("n1", gpu(8)).node("n2", gpu(8));
  built.group("mixed", {"n1"}, prio(1), gpu(8));
  auto pods = built.all_pods();
  auto second = pods[0];
  second.uid = second.name = "mixed-g0-0-1";
  second.index = 1;
  second.node = "n2";
  second.priority = 50;
  pods.push_back(second);

  const auto made =
    decide(view_of(built.all_nodes(), pods, {}), lone("new", prio(10), gpu(8)), open_settings());

  EXPECT_EQ(made.result, outcome::infeasible);
}

TEST(candidates, daemon_pods_are_never_victims) {
  const auto view = cluster()
                      .node("n1", gpu(8))
                      .running("exporter", prio(0), gpu(4), daemon())
                      .running("low", prio(1), gpu(4))
                      .view();

  const auto made = decide(view, lone("new", prio(10), gpu(4)), open_settings());

  EXPECT_THAT(victims_of(made), UnorderedElementsAre("low"));
  EXPECT_THAT(reason_for(made.why.passed_over, "exporter"), HasSubstr("daemon"));
}

TEST(candidates, a_protected_member_keeps_its_whole_group) {
  const auto view = cluster()
                      .node("n1", gpu(8))
                      .node("n2", gpu(8))
                      .group("led", {"n1", "n2"}, prio(1), gpu(8), protected_index{0})
                      .view();

  const auto made = decide(view, lone("new", prio(10), gpu(8)), open_settings());

  EXPECT_EQ(made.result, outcome::infeasible);
}

TEST(candidates, a_protected_member_keeps_only_itself_where_pods_go_one_by_one) {
  const auto view = cluster()
                      .node("n1", gpu(8))
                      .node("n2", gpu(8))
                      .pods("led", {"n1", "n2"}, prio(1), gpu(8), protected_index{0})
                      .view();

  const auto made = decide(view, gang("new", prio(10), members(1, gpu(8))), open_settings());

  ASSERT_EQ(made.victims.size(), 1u);
  EXPECT_EQ(to_string(made.victims[0].portion), "led/g0/0/1");
}

TEST(candidates, an_opt_out_counts_only_where_it_is_a_veto) {
  const auto view =
    cluster().node("n1", gpu(8)).running("shy", prio(1), gpu(8), opted_out()).view();
  auto settings = open_settings();

  const auto without = decide(view, lone("new", prio(10), gpu(8)), settings);
  settings.group.limits.opt_out_is_veto = true;
  const auto with = decide(view, lone("new", prio(10), gpu(8)), settings);

  EXPECT_EQ(without.result, outcome::preempts);
  EXPECT_EQ(with.result, outcome::infeasible);
  EXPECT_THAT(reason_for(with.why.passed_over, "shy"), HasSubstr("opted out"));
}

TEST(candidates, who_has_not_run_for_the_minimum_runtime_stays) {
  const auto view = cluster()
                      .node("n1", gpu(8))
                      .running("young", prio(1), gpu(4), started{3000})
                      .running("old", prio(2), gpu(4), started{0})
                      .view();
  auto settings = open_settings();
  settings.group.limits.minimum_runtime = std::chrono::minutes{15};

  const auto made = decide(view, lone("new", prio(10), gpu(4)), settings);

  EXPECT_THAT(victims_of(made), UnorderedElementsAre("old"));
  EXPECT_THAT(reason_for(made.why.passed_over, "young"), HasSubstr("has run for 10m"));
}

TEST(candidates, the_minimum_runtime_is_over_when_it_has_passed_exactly) {
  const auto view =
    cluster().node("n1", gpu(8)).running("old", prio(1), gpu(8), started{3000}).view();
  auto settings = open_settings();
  settings.group.limits.minimum_runtime = std::chrono::seconds{600};

  const auto made = decide(view, lone("new", prio(10), gpu(8)), settings);

  EXPECT_EQ(made.result, outcome::preempts);
}

TEST(candidates, a_plan_with_too_many_victims_is_infeasible) {
  auto built = cluster().node("n1", gpu(4)).node("n2", gpu(4));
  built.pods("small", {"n1", "n1", "n1", "n1"}, prio(1), gpu(1));
  built.pods("large", {"n2", "n2"}, prio(5), gpu(2));
  auto settings = open_settings();
  settings.group.limits.victims_per_decision = 2;

  const auto made = decide(built.view(), lone("new", prio(10), gpu(4)), settings);

  EXPECT_THAT(victims_of(made), UnorderedElementsAre("large", "large"));
  EXPECT_FALSE(outcome_of(made, "n1").feasible);
  EXPECT_THAT(outcome_of(made, "n1").reason, HasSubstr("needs 4 victims"));
}

TEST(candidates, those_who_leave_already_are_not_chosen_again) {
  const auto view = cluster()
                      .node("n1", gpu(8))
                      .running("leaves", prio(1), gpu(4), in_phase{pod_phase::terminating})
                      .running("low", prio(2), gpu(4))
                      .view();

  const auto made = decide(view, lone("new", prio(10), gpu(8)), open_settings());

  EXPECT_THAT(victims_of(made), UnorderedElementsAre("low"));
}

} // namespace reprieve::tests
