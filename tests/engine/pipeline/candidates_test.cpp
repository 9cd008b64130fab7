#include "preemption/waiting/pending.hpp"
#include "tests/engine/worlds/plan_reading.hpp"

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
  EXPECT_THAT(outcome_of(made, "n1").reason, HasSubstr("4 victims are the fewest that were found"));
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

// -- the preemptor's own workload ----------------------------------------------------------------

namespace {

/// A part of `train` of high priority, whose other part may run already.
preemptor lead_of_train(const amount& size) {
  auto who = lone("train", prio(20), size);
  who.may_have_weaker_kin = true;
  return who;
}

} // namespace

TEST(candidates, pods_of_the_preemptors_own_workload_never_go) {
  const auto view = cluster().node("n1", gpu(4)).running("train", prio(5), gpu(4)).view();

  const auto made = decide(view, lead_of_train(gpu(4)), open_settings());

  EXPECT_EQ(made.result, outcome::infeasible);
  EXPECT_EQ(reason_for(made.why.passed_over, "train"), "belongs to train itself");
}

TEST(candidates, others_go_for_it_though_its_own_would_cost_less) {
  const auto view = cluster()
                      .node("n1", gpu(4))
                      .running("train", prio(5), gpu(4))
                      .node("n2", gpu(4))
                      .running("other", prio(6), gpu(4))
                      .view();
  auto as_gang = gang("train", prio(20), members(1, gpu(4)));
  as_gang.may_have_weaker_kin = true;

  EXPECT_THAT(victims_of(decide(view, lead_of_train(gpu(4)), open_settings())),
              UnorderedElementsAre("other"));
  EXPECT_THAT(victims_of(decide(view, as_gang, open_settings())), UnorderedElementsAre("other"));
}

TEST(candidates, a_workloads_own_pods_never_go_by_the_other_policies_either) {
  const auto view = cluster().node("n1", gpu(4)).running("train", prio(5), gpu(4)).view();
  auto bound = lone("train", prio(20), gpu(4), required{"n1"});
  bound.may_have_weaker_kin = true;
  bound.reserved_since = at(0);

  EXPECT_EQ(decide(view, lead_of_train(gpu(4)), session_settings()).result, outcome::infeasible);
  EXPECT_EQ(decide(view, bound, open_settings()).result, outcome::infeasible);
}

TEST(candidates, a_unit_may_have_weaker_kin_only_where_a_group_of_it_has_a_lower_priority) {
  workload_record record;
  auto& spec = record.spec.edit();
  spec.name = "train";
  spec.groups.resize(2);
  spec.groups[0].name = "lead";
  spec.groups[1].name = "work";
  record.status.by_group = {{20, 20, true}, {5, 5, true}};
  const auto nobody_stands = [](const pod&) { return false; };

  const auto units = lacking_units(record, nobody_stands);

  ASSERT_EQ(units.size(), 2u);
  EXPECT_TRUE(units[0].may_have_weaker_kin) << "the lead has";
  EXPECT_FALSE(units[1].may_have_weaker_kin);
}

} // namespace reprieve::tests
