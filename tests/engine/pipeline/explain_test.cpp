#include "tests/engine/worlds/plan_reading.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace reprieve::tests {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

TEST(explain, the_summary_says_who_comes_and_who_goes) {
  auto built = cluster().node("n1", gpu(4)).node("n2", gpu(4)).node("n3", gpu(4));
  built.group("old", {"n1", "n2"}, prio(10), gpu(4));
  built.pods("important", {"n3"}, prio(90), gpu(4));

  const auto made =
    decide(built.view(), gang("train-b", prio(100), members(4, gpu(2))), open_settings());

  EXPECT_EQ(made.why.summary,
            "train-b (priority 100) gets 4 pods on 2 nodes; 1 portion of priority 10 goes; nothing "
            "above priority 10 was touched");
}

TEST(explain, the_summary_gives_the_range_of_victims) {
  auto built = cluster().node("n1", gpu(4));
  built.running("a", prio(3), gpu(2));
  built.running("b", prio(1), gpu(2));

  const auto made = decide(built.view(), lone("new", prio(10), gpu(4)), open_settings());

  EXPECT_THAT(made.why.summary, HasSubstr("2 portions of priority 1 to 3 go"));
}

TEST(explain, the_summary_says_that_nobody_goes) {
  const auto view = cluster().node("n1", gpu(4)).view();

  const auto made = decide(view, lone("new", prio(10), gpu(4)), open_settings());

  EXPECT_EQ(made.why.summary,
            "new (priority 10) gets 1 pod on 1 node in what is free; nobody goes");
}

TEST(explain, the_summary_of_many_infeasible_nodes_names_what_most_of_them_lack) {
  auto built = cluster();
  built.node("n1", gpu(4), cpu(4)).running("a", prio(50), gpu(4));
  built.node("n2", gpu(4), cpu(4)).running("b", prio(50), gpu(4));
  built.node("n3", gpu(4), cpu(4)).running("c", prio(50), cpu(4));

  const auto made = decide(built.view(), lone("new", prio(10), gpu(4), cpu(4)), open_settings());

  EXPECT_EQ(made.why.summary, "new (priority 10) does not fit: 2 of 3 domains are short of gpu "
                              "even with all candidates gone");
}

TEST(explain, every_victim_has_a_reason) {
  const auto view = cluster().node("n1", gpu(4)).running("low", prio(1), gpu(4)).view();

  const auto made = decide(view, lone("new", prio(10), gpu(4)), open_settings());

  ASSERT_EQ(made.victims.size(), 1u);
  EXPECT_EQ(made.victims[0].reason,
            "its priority 1 is below 10 and new does not fit on n1 beside it");
}

TEST(explain, a_node_that_lost_says_what_it_would_have_cost) {
  const auto view = cluster()
                      .node("n1", gpu(4))
                      .running("low", prio(1), gpu(4))
                      .node("n2", gpu(4))
                      .running("mid", prio(5), gpu(4))
                      .view();

  const auto made = decide(view, lone("new", prio(10), gpu(4)), open_settings());

  const auto& lost = outcome_of(made, "n2");
  EXPECT_TRUE(lost.feasible);
  EXPECT_EQ(lost.threshold, 5);
  EXPECT_EQ(lost.victims, 1);
  EXPECT_EQ(lost.reason, "costs a victim of priority 5, not 1");
}

TEST(explain, among_very_many_nodes_one_that_bounds_rule_out_says_so) {
  auto built = cluster();
  for (int i = 100; i < 400; ++i)
    built.node("n" + std::to_string(i), gpu(4)).running("w" + std::to_string(i), prio(5), gpu(4));
  built.node("n999", gpu(4)).running("low", prio(1), gpu(4));

  const auto made = decide(built.view(), lone("new", prio(10), gpu(4)), open_settings());

  EXPECT_TRUE(outcome_of(made, "n999").chosen);
  EXPECT_EQ(outcome_of(made, "n100").reason,
            "costs a victim of priority 5 or above; n999 costs none above 1");
}

TEST(explain, only_the_summary_is_told_where_no_explanation_is_asked_for) {
  const auto view = cluster()
                      .node("n1", gpu(8))
                      .running("low", prio(1), gpu(4))
                      .running("mid", prio(2), gpu(4))
                      .view();
  auto settings = open_settings();
  auto told = decide(view, lone("new", prio(10), gpu(4)), settings);
  for (auto& one : told.victims)
    one.reason.clear();
  settings.explained = depth::summary;

  const auto made = decide(view, lone("new", prio(10), gpu(4)), settings);

  EXPECT_EQ(made.why.summary, told.why.summary);
  EXPECT_EQ(made.victims, told.victims);
  EXPECT_THAT(made.why.domains, IsEmpty());
  EXPECT_THAT(made.why.reprieved, IsEmpty());
  EXPECT_THAT(made.why.passed_over, IsEmpty());
}

TEST(explain, an_infeasible_gang_names_who_may_not_go_though_less_important) {
  const auto view = cluster()
                      .node("n1", gpu(4))
                      .running("exporter", prio(1), gpu(4), daemon())
                      .node("n2", gpu(4))
                      .running("high", prio(50), gpu(4))
                      .view();

  const auto made = decide(view, gang("new", prio(10), members(1, gpu(4))), open_settings());

  EXPECT_THAT(reason_for(made.why.passed_over, "exporter"), HasSubstr("daemon"));
  EXPECT_EQ(reason_for(made.why.passed_over, "high"), "");
}

TEST(explain, a_domain_that_is_short_names_who_may_not_go_there) {
  const auto view = cluster()
                      .node("n1", gpu(8))
                      .running("shy", prio(1), gpu(8), opted_out())
                      .node("n2", gpu(8))
                      .running("low", prio(2), gpu(8))
                      .node("n3", gpu(8))
                      .running("high", prio(50), gpu(8))
                      .view();
  auto settings = open_settings();
  settings.group.limits.opt_out_is_veto = true;

  const auto made = decide(view, lone("new", prio(10), gpu(8)), settings);

  EXPECT_THAT(victims_of(made), UnorderedElementsAre("low"));
  EXPECT_THAT(outcome_of(made, "n1").reason,
              HasSubstr("; 1 portion may not go: shy/g0/0/0 (has opted out of preemption)"));
  EXPECT_THAT(outcome_of(made, "n3").reason, Not(HasSubstr("may not go")))
    << "it is more important";
}

TEST(explain, of_many_who_may_not_go_the_most_important_are_named_and_the_others_counted) {
  auto built = cluster();
  for (const std::string rack : {"a", "b"}) {
    built.node("n-" + rack, gpu(5), label{"rack", rack});
    for (int i = 1; i <= 5; ++i)
      built.running(rack + std::to_string(i), prio(i), gpu(1), daemon());
  }

  const auto made = decide(
    built.view(), gang("new", prio(10), members(1, gpu(5)), within{{"rack"}}), open_settings());

  EXPECT_EQ(made.result, plan::outcome::infeasible);
  const auto& reason = outcome_of(made, "rack=a").reason;
  EXPECT_THAT(reason, HasSubstr("; 5 portions may not go: a5/g0/0/0 (daemon"));
  EXPECT_THAT(reason, HasSubstr("a3/g0/0/0 (daemon pods are never victims) and 2 others"));
  EXPECT_THAT(reason, Not(HasSubstr("a2/")));
}

} // namespace reprieve::tests
