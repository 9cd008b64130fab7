#include "preemption/policies/sessions/sessions.hpp"
#include "preemption/waiting/pending.hpp"
#include "tests/engine/worlds/plan_reading.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

/// Preemption of low-priority sessions in a resource group (docs/policies.md#sessions).
namespace reprieve::tests {

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;
using outcome = plan::outcome;

plan_settings up_to(std::int32_t preemptible_priority) {
  auto settings = session_settings();
  settings.group.preemptible_priority = preemptible_priority;
  return settings;
}

plan_settings in_order(preemption_order order) {
  auto settings = session_settings();
  settings.group.order = order;
  return settings;
}

} // namespace

// -- who may go ----------------------------------------------------------------------------------

TEST(sessions, nobody_goes_for_what_fits) {
  const auto view = cluster().node("n1", gpu(8)).running("low", prio(1), gpu(4)).view();

  const auto made = decide(view, lone("new", prio(10), gpu(4)), session_settings());

  EXPECT_EQ(made.result, outcome::placed);
}

TEST(sessions, those_at_or_below_the_preemptible_priority_may_go) {
  const auto view = cluster()
                      .node("n1", gpu(8))
                      .running("above", prio(6), gpu(4))
                      .running("at", prio(5), gpu(4))
                      .view();

  const auto made = decide(view, lone("new", prio(10), gpu(4)), session_settings());
  const auto more = decide(view, lone("new", prio(10), gpu(8)), session_settings());

  EXPECT_THAT(victims_of(made), UnorderedElementsAre("at")) << "5 is the default";
  EXPECT_EQ(made.policy, "sessions");
  EXPECT_EQ(reason_for(made.why.passed_over, "above"),
            "its priority 6 is above 5, up to which sessions may be preempted");
  EXPECT_EQ(more.result, outcome::infeasible) << "though 6 is below 10";
}

TEST(sessions, only_those_below_the_pending_one_may_go) {
  const auto view = cluster()
                      .node("n1", gpu(8))
                      .running("peer", prio(3), gpu(4))
                      .running("below", prio(2), gpu(4))
                      .view();

  const auto made = decide(view, lone("new", prio(3), gpu(4)), session_settings());
  const auto more = decide(view, lone("new", prio(3), gpu(8)), session_settings());

  EXPECT_THAT(victims_of(made), UnorderedElementsAre("below"));
  EXPECT_EQ(more.result, outcome::infeasible);
}

TEST(sessions, a_class_that_never_preempts_takes_nobody) {
  const auto view = cluster().node("n1", gpu(8)).running("low", prio(1), gpu(8)).view();

  const auto made =
    decide(view, lone("new", prio(10), gpu(8), never_preempts()), session_settings());

  EXPECT_EQ(made.result, outcome::infeasible);
}

TEST(sessions, each_resource_group_has_its_own_settings) {
  const auto view = cluster()
                      .node("n1", gpu(8))
                      .running("old", prio(7), gpu(4), started{0})
                      .running("new", prio(7), gpu(4), started{10})
                      .view();
  auto strict = up_to(5);
  auto lenient = up_to(8);
  lenient.group.order = preemption_order::newest;

  EXPECT_EQ(decide(view, lone("in", prio(10), gpu(4)), strict).result, outcome::infeasible);
  EXPECT_THAT(victims_of(decide(view, lone("in", prio(10), gpu(4)), lenient)),
              UnorderedElementsAre("new"));
}

TEST(sessions, priorities_make_a_preemptible_partition) {
  // As with partitions in Slurm: work of the partition has priority 20 or less, all other work
  // more, and the line between them is the preemptible priority.
  const auto settings = up_to(20);
  const auto view = cluster()
                      .node("n1", gpu(8))
                      .running("scavenger", prio(20), gpu(4))
                      .running("regular", prio(21), gpu(4))
                      .view();

  const auto regular_work = decide(view, lone("new", prio(21), gpu(4)), settings);
  const auto urgent_work = decide(view, lone("new", prio(100), gpu(8)), settings);
  const auto of_the_partition = decide(view, lone("new", prio(20), gpu(4)), settings);

  EXPECT_THAT(victims_of(regular_work), UnorderedElementsAre("scavenger"));
  EXPECT_EQ(urgent_work.result, outcome::infeasible) << "the other partition is never touched";
  EXPECT_EQ(of_the_partition.result, outcome::infeasible) << "nor one's own";
}

// -- in which order ------------------------------------------------------------------------------

TEST(sessions, the_lowest_priority_goes_first) {
  const auto view = cluster()
                      .node("n1", gpu(12))
                      .running("three", prio(3), gpu(4), started{0})
                      .running("one", prio(1), gpu(4), started{20})
                      .running("two", prio(2), gpu(4), started{10})
                      .view();

  const auto one = decide(view, lone("new", prio(10), gpu(4)), session_settings());
  const auto two = decide(view, lone("new", prio(10), gpu(8)), session_settings());

  EXPECT_THAT(victims_of(one), UnorderedElementsAre("one"));
  EXPECT_THAT(victims_of(two), UnorderedElementsAre("one", "two"));
}

TEST(sessions, of_equal_priority_the_oldest_goes_first_by_default) {
  const auto view = cluster()
                      .node("n1", gpu(12))
                      .running("a", prio(1), gpu(4), started{20})
                      .running("b", prio(1), gpu(4), started{0})
                      .running("c", prio(1), gpu(4), started{10})
                      .view();

  const auto made = decide(view, lone("new", prio(10), gpu(8)), session_settings());

  EXPECT_THAT(victims_of(made), UnorderedElementsAre("b", "c"));
}

TEST(sessions, one_of_several_pods_goes_whole) {
  auto built = cluster().node("n1", gpu(8)).node("n2", gpu(8));
  built.pods("pair", {"n1", "n2"}, prio(1), gpu(8));

  const auto made = decide(built.view(), lone("new", prio(10), gpu(8)), session_settings());

  EXPECT_THAT(victims_of(made), ElementsAre("pair", "pair"));
}

TEST(sessions, one_of_which_a_pod_may_not_go_stays_whole) {
  auto built = cluster().node("n1", gpu(8)).node("n2", gpu(8));
  built.pods("pair", {"n1", "n2"}, prio(1), gpu(8),
             [](pod& p) { p.protected_member = p.node == "n2"; });

  const auto made = decide(built.view(), lone("new", prio(10), gpu(8)), session_settings());

  EXPECT_EQ(made.result, outcome::infeasible);
  EXPECT_EQ(reason_for(made.why.passed_over, "pair"),
            "others of its session may not go, and a session goes whole");
}

TEST(sessions, of_equal_priority_the_newest_goes_first_where_that_is_the_order) {
  const auto view = cluster()
                      .node("n1", gpu(12))
                      .running("a", prio(1), gpu(4), started{20})
                      .running("b", prio(1), gpu(4), started{0})
                      .running("c", prio(1), gpu(4), started{10})
                      .view();

  const auto made = decide(view, lone("new", prio(10), gpu(8)), in_order(preemption_order::newest));

  EXPECT_THAT(victims_of(made), UnorderedElementsAre("a", "c"));
}

TEST(sessions, one_that_has_not_started_counts_as_the_newest) {
  const auto view = cluster()
                      .node("n1", gpu(8))
                      .running("starts", prio(1), gpu(4), [](pod& p) { p.started = no_time; })
                      .running("runs", prio(1), gpu(4), started{10})
                      .view();
  const auto new_one = lone("new", prio(10), gpu(4));

  EXPECT_THAT(victims_of(decide(view, new_one, in_order(preemption_order::oldest))),
              UnorderedElementsAre("runs"));
  EXPECT_THAT(victims_of(decide(view, new_one, in_order(preemption_order::newest))),
              UnorderedElementsAre("starts"));
}

TEST(sessions, names_break_ties) {
  const auto view = cluster()
                      .node("n1", gpu(12))
                      .running("c", prio(1), gpu(4))
                      .running("a", prio(1), gpu(4))
                      .running("b", prio(1), gpu(4))
                      .view();

  for (const auto order : {preemption_order::oldest, preemption_order::newest})
    EXPECT_THAT(victims_of(decide(view, lone("new", prio(10), gpu(8)), in_order(order))),
                UnorderedElementsAre("a", "b"));
}

// -- how many ------------------------------------------------------------------------------------

TEST(sessions, they_go_one_by_one_until_there_is_a_placement_anywhere) {
  auto built = cluster().node("n1", gpu(8)).node("n2", gpu(8));
  built.pods("first", {"n1"}, prio(1), gpu(4));
  built.pods("second", {"n2"}, prio(2), gpu(8));
  built.pods("third", {"n1"}, prio(3), gpu(4));

  const auto made = decide(built.view(), lone("new", prio(10), gpu(8)), session_settings());

  EXPECT_THAT(pods_by_node(made), ElementsAre(Pair("n2", 1)));
  EXPECT_THAT(victims_of(made), UnorderedElementsAre("first", "second"))
    << "the first in line is not put back, though it turned out not to be in the way";
}

TEST(sessions, nobody_goes_from_a_node_that_is_too_small_all_the_same) {
  auto built = cluster().node("n1", gpu(8)).node("n2", gpu(8));
  built.pods("keeps_n1_small", {"n1"}, prio(50), gpu(4));
  built.pods("first", {"n1"}, prio(1), gpu(4));
  built.pods("second", {"n2"}, prio(2), gpu(8));

  const auto made = decide(built.view(), lone("new", prio(10), gpu(8)), session_settings());

  EXPECT_THAT(victims_of(made), UnorderedElementsAre("second"));
}

TEST(sessions, nobody_goes_who_holds_nothing_that_is_short) {
  const auto view = cluster()
                      .node("n1", gpu(8), cpu(64))
                      .running("notebook", prio(1), cpu(8))
                      .running("train", prio(2), gpu(8), cpu(8))
                      .view();

  const auto made = decide(view, lone("new", prio(10), gpu(8), cpu(8)), session_settings());

  EXPECT_THAT(victims_of(made), UnorderedElementsAre("train"));
  EXPECT_EQ(reason_for(made.why.reprieved, "notebook"), "still fits on n1 beside new");
}

TEST(sessions, a_gang_needs_as_many_to_go_as_give_all_its_pods_a_place) {
  auto built = cluster().node("n1", gpu(8)).node("n2", gpu(8)).node("n3", gpu(8));
  built.pods("a", {"n1"}, prio(1), gpu(8));
  built.pods("b", {"n2"}, prio(2), gpu(8));
  built.pods("c", {"n3"}, prio(3), gpu(8));

  const auto made =
    decide(built.view(), gang("new", prio(10), members(2, gpu(8))), session_settings());

  EXPECT_THAT(victims_of(made), UnorderedElementsAre("a", "b"));
  EXPECT_THAT(pods_by_node(made), ElementsAre(Pair("n1", 1), Pair("n2", 1)));
}

TEST(sessions, a_gang_of_several_templates_is_placed_whole) {
  auto built = cluster().node("n1", gpu(8), cpu(8)).node("n2", gpu(8), cpu(8));
  built.pods("a", {"n1"}, prio(1), gpu(4), cpu(8));
  built.pods("b", {"n2"}, prio(2), gpu(8), cpu(4));

  const auto made =
    decide(built.view(), gang("new", prio(10), members(1, cpu(6)), members(2, gpu(4))),
           session_settings());

  EXPECT_THAT(victims_of(made), UnorderedElementsAre("a"));
  EXPECT_THAT(pods_by_node(made), ElementsAre(Pair("n1", 3)));
}

TEST(sessions, a_gang_is_placed_whole_where_its_seats_were_found_with_everybody_gone) {
  // The first template finds the right node, the tighter one, only while `idle` is assumed gone,
  // which holds nothing that is short and so stays. Many full nodes hide that the second template
  // has just one node.
  auto built =
    cluster().node("x1", gpu(150), cpu(8), label{"first", "yes"}, label{"second", "yes"});
  built.running("a", prio(1), cpu(8));
  built.running("idle", prio(3), gpu(50));
  built.node("x2", gpu(120), cpu(8), label{"first", "yes"});
  built.running("b", prio(2), cpu(8));
  for (int i = 100; i < 170; ++i)
    built.node("y" + std::to_string(i), gpu(1), cpu(64), label{"second", "yes"})
      .running("full" + std::to_string(i), prio(50), gpu(1), cpu(64));

  const auto made =
    decide(built.view(),
           gang("new", prio(10), members(1, gpu(1), cpu(8), selecting{"first", "yes"}),
                members(1, gpu(1), cpu(8), selecting{"second", "yes"})),
           session_settings());

  EXPECT_THAT(victims_of(made), UnorderedElementsAre("a", "b"));
  EXPECT_THAT(pods_by_node(made), ElementsAre(Pair("x1", 1), Pair("x2", 1)));
}

TEST(sessions, one_that_goes_as_a_group_goes_whole_wherever_its_pods_run) {
  auto built = cluster().node("n1", gpu(8)).node("n2", gpu(8));
  built.group("train", {"n1", "n2", "n2"}, prio(1), gpu(4));
  built.pods("high", {"n1"}, prio(50), gpu(4));

  const auto made = decide(built.view(), lone("new", prio(10), gpu(4)), session_settings());

  ASSERT_EQ(made.victims.size(), 1u);
  EXPECT_EQ(made.victims[0].pods.size(), 3u);
}

// -- where ---------------------------------------------------------------------------------------

TEST(sessions, each_topology_domain_is_tried_by_itself_and_the_best_by_score_wins) {
  auto built = cluster()
                 .node("n1", gpu(8), label{"zone", "a"})
                 .node("n2", gpu(8), label{"zone", "a"})
                 .node("n3", gpu(8), label{"zone", "b"})
                 .node("n4", gpu(8), label{"zone", "b"});
  built.pods("a", {"n1", "n2"}, prio(4), gpu(8));
  built.pods("b", {"n3"}, prio(3), gpu(8));
  built.pods("c", {"n4"}, prio(1), gpu(8));

  const auto made = decide(
    built.view(), gang("new", prio(10), members(2, gpu(8)), within{{"zone"}}), session_settings());

  EXPECT_THAT(victims_of(made), UnorderedElementsAre("b", "c"));
  EXPECT_TRUE(outcome_of(made, "zone=b").chosen);
  EXPECT_EQ(outcome_of(made, "zone=a").reason, "costs a victim of priority 4, not 3");
}

TEST(sessions, nobody_outside_the_domain_goes_for_it) {
  auto built =
    cluster().node("n1", gpu(8), label{"zone", "a"}).node("n2", gpu(8), label{"zone", "b"});
  built.pods("elsewhere", {"n2"}, prio(0), gpu(4));
  built.pods("stays", {"n2"}, prio(50), gpu(4));
  built.pods("here", {"n1"}, prio(4), gpu(8));

  const auto made = decide(
    built.view(), gang("new", prio(10), members(1, gpu(8)), within{{"zone"}}), session_settings());

  EXPECT_THAT(victims_of(made), UnorderedElementsAre("here"));
}

TEST(sessions, says_what_falls_short_when_all_who_may_go_are_not_enough) {
  auto built = cluster().node("n1", gpu(8)).node("n2", gpu(8));
  built.pods("low", {"n1", "n2"}, prio(1), gpu(2));
  built.pods("high", {"n1", "n2"}, prio(50), gpu(6));

  const auto made =
    decide(built.view(), gang("new", prio(10), members(2, gpu(2))), session_settings());
  const auto more =
    decide(built.view(), gang("new", prio(10), members(3, gpu(2))), session_settings());

  EXPECT_EQ(made.result, outcome::preempts);
  EXPECT_EQ(more.result, outcome::infeasible);
  EXPECT_THAT(more.why.summary, HasSubstr("short of 2 gpu even with all candidates gone"));
  EXPECT_EQ(outcome_of(more, "default").short_resource, "gpu");
}

// -- reasons -------------------------------------------------------------------------------------

TEST(sessions, a_victim_is_told_its_turn) {
  const auto view =
    cluster().node("n1", gpu(8)).running("a", prio(3), gpu(4)).running("b", prio(1), gpu(4)).view();

  const auto made = decide(view, lone("new", prio(10), gpu(8)), session_settings());

  ASSERT_EQ(made.victims.size(), 2u);
  EXPECT_EQ(made.victims[0].portion.workload, "a");
  EXPECT_EQ(made.victims[0].reason,
            "number 2 of 2 that go, lowest priority first, then oldest; its priority 3 is below 10 "
            "and not above 5, up to which sessions may be preempted");
  EXPECT_THAT(made.victims[1].reason, HasSubstr("number 1 of 2"));
  EXPECT_EQ(made.why.threshold, 3);
}

} // namespace reprieve::tests
