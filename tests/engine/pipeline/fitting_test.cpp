#include "tests/engine/worlds/plan_reading.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace reprieve::tests {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using outcome = plan::outcome;

TEST(fitting, nothing_is_preempted_for_what_fits) {
  const auto view =
    cluster().node("n1", gpu(8)).running("low", prio(1), gpu(4)).node("n2", gpu(2)).view();

  const auto made = decide(view, lone("new", prio(10), gpu(4)), open_settings());

  EXPECT_EQ(made.result, outcome::placed);
  EXPECT_THAT(made.victims, IsEmpty());
  EXPECT_THAT(pods_by_node(made), ElementsAre(Pair("n1", 1)));
}

TEST(fitting, an_assignment_is_a_whole_pod_with_its_node_nominated) {
  const auto view = cluster().node("n1", gpu(8)).view();

  const auto made = place(view, lone("new", prio(10), gpu(4)), open_settings());

  ASSERT_EQ(made.assignments.size(), 1u);
  const auto& placed = made.assignments[0].placed;
  EXPECT_EQ(placed.uid, "new-g0-0-0");
  EXPECT_EQ(placed.node, "n1");
  EXPECT_EQ(placed.phase, pod_phase::nominated);
  EXPECT_EQ(placed.requests, (resources{{"gpu", 4000}}));
}

TEST(fitting, what_fits_once_victims_of_others_have_gone_waits_and_takes_nobody_new) {
  const auto view = cluster()
                      .node("n1", gpu(8))
                      .running("leaves", prio(50), gpu(8), chosen_already())
                      .node("n2", gpu(8))
                      .running("low", prio(1), gpu(8))
                      .view();

  const auto made = decide(view, lone("new", prio(10), gpu(8)), open_settings());

  EXPECT_EQ(made.result, outcome::waits);
  EXPECT_THAT(made.victims, IsEmpty());
  EXPECT_THAT(pods_by_node(made), ElementsAre(Pair("n1", 1)));
}

TEST(fitting, room_that_is_held_for_another_is_not_free) {
  const auto view = cluster()
                      .node("n1", gpu(8))
                      .running("leaves", prio(1), gpu(8), chosen_already())
                      .running("earlier", prio(50), gpu(8), in_phase{pod_phase::nominated})
                      .view();

  const auto made = decide(view, lone("new", prio(10), gpu(1)), open_settings());

  EXPECT_EQ(made.result, outcome::infeasible);
}

TEST(fitting, the_allocation_stage_takes_only_what_is_free_now) {
  const auto view = cluster()
                      .node("n1", gpu(8))
                      .running("leaves", prio(1), gpu(8), in_phase{pod_phase::terminating})
                      .view();

  const auto made = place(view, lone("new", prio(10), gpu(8)), open_settings());

  EXPECT_EQ(made.result, outcome::infeasible);
  EXPECT_THAT(made.assignments, IsEmpty());
}

TEST(fitting, who_never_preempts_takes_nobody) {
  const auto view = cluster().node("n1", gpu(8)).running("low", prio(1), gpu(8)).view();

  const auto made = decide(view, lone("new", prio(10), gpu(8), never_preempts()), open_settings());

  EXPECT_EQ(made.result, outcome::infeasible);
  EXPECT_THAT(made.victims, IsEmpty());
  EXPECT_THAT(made.why.summary, HasSubstr("never preempts"));
}

TEST(fitting, a_resource_that_no_node_has_is_named) {
  const auto view = cluster().node("n1", gpu(8)).running("low", prio(1), gpu(8)).view();

  const auto made = decide(view, lone("new", prio(10), amount{"tpu", 1}), open_settings());

  EXPECT_EQ(made.result, outcome::infeasible);
  EXPECT_THAT(made.why.summary, HasSubstr("no node has any tpu"));
}

TEST(fitting, a_resource_that_is_not_asked_for_may_be_overdrawn) {
  const auto view = cluster().node("n1", gpu(8), cpu(4)).running("greedy", prio(50), cpu(6)).view();

  const auto made = decide(view, lone("new", prio(10), gpu(8)), open_settings());

  EXPECT_EQ(made.result, outcome::placed);
}

TEST(fitting, more_pods_than_needed_come_along_where_there_is_room) {
  const auto view = cluster().node("n1", gpu(3)).view();

  const auto made =
    decide(view, gang("new", prio(10), members(5, gpu(1), at_least{2})), open_settings());

  EXPECT_EQ(made.result, outcome::placed);
  EXPECT_EQ(made.assignments.size(), 3u);
}

TEST(fitting, nobody_goes_for_more_pods_than_needed) {
  const auto view = cluster()
                      .node("n1", gpu(2))
                      .node("n2", gpu(2))
                      .running("a", prio(1), gpu(1))
                      .running("b", prio(2), gpu(1))
                      .view();

  const auto made =
    decide(view, gang("new", prio(10), members(4, gpu(1), at_least{3})), open_settings());

  EXPECT_EQ(made.result, outcome::preempts);
  EXPECT_THAT(victims_of(made), ElementsAre("a"));
  EXPECT_EQ(made.assignments.size(), 3u);
}

TEST(fitting, pods_beyond_those_needed_use_room_that_victims_leave_over) {
  const auto view = cluster().node("n1", gpu(2)).running("a", prio(1), gpu(2)).view();

  const auto made =
    decide(view, gang("new", prio(10), members(2, gpu(1), at_least{1})), open_settings());

  EXPECT_EQ(made.result, outcome::preempts);
  EXPECT_EQ(made.assignments.size(), 2u);
}

TEST(fitting, pods_beyond_those_needed_use_room_that_a_group_leaves_on_other_nodes) {
  const auto view = cluster()
                      .node("n1", gpu(2))
                      .node("n2", gpu(2))
                      .group("whole", {"n1", "n2"}, prio(1), gpu(2))
                      .view();

  const auto made =
    decide(view, gang("new", prio(10), members(2, gpu(2), at_least{1})), open_settings());

  EXPECT_EQ(made.victims.size(), 1u);
  EXPECT_THAT(pods_by_node(made), ElementsAre(Pair("n1", 1), Pair("n2", 1)));
}

struct unsuitable_case {
  std::string name;
  cluster built;
  preemptor who;
  std::string reason;
};

void PrintTo(const unsuitable_case& given, std::ostream* out) {
  *out << given.name;
}

class unsuitable_nodes : public ::testing::TestWithParam<unsuitable_case> {};

TEST_P(unsuitable_nodes, are_not_used_and_the_reason_is_told) {
  const auto& given = GetParam();

  const auto made = decide(given.built.view(), given.who, open_settings());

  EXPECT_EQ(made.result, outcome::infeasible);
  EXPECT_THAT(outcome_of(made, "n1").reason, HasSubstr(given.reason));
  EXPECT_THAT(made.why.summary, HasSubstr(given.reason));
}

INSTANTIATE_TEST_SUITE_P(
  fitting, unsuitable_nodes,
  ::testing::Values(unsuitable_case{"not_ready", cluster().node("n1", gpu(8), not_ready()),
                                    lone("new", prio(10), gpu(1)), "not ready"},
                    unsuitable_case{"selector", cluster().node("n1", gpu(8), label{"disk", "hdd"}),
                                    lone("new", prio(10), gpu(1), selecting{"disk", "ssd"}),
                                    "selector"},
                    unsuitable_case{"taint", cluster().node("n1", gpu(8), tainted{"dedicated"}),
                                    lone("new", prio(10), gpu(1)), "tainted"},
                    unsuitable_case{"size", cluster().node("n1", gpu(8)),
                                    lone("new", prio(10), gpu(9)), "too small"},
                    unsuitable_case{"topology", cluster().node("n1", gpu(8)),
                                    lone("new", prio(10), gpu(1), within{{"zone"}}),
                                    "topology labels"}),
  [](const auto& given) { return given.param.name; });

TEST(fitting, a_tolerated_taint_keeps_nobody_away) {
  const auto view = cluster().node("n1", gpu(8), tainted{"dedicated"}).view();

  const auto made =
    decide(view, lone("new", prio(10), gpu(1), tolerating{"dedicated"}), open_settings());

  EXPECT_EQ(made.result, outcome::placed);
}

TEST(fitting, a_gang_that_never_preempts_takes_what_is_free_and_nobody) {
  const auto view =
    cluster().node("n1", gpu(8)).node("n2", gpu(8)).running("low", prio(1), gpu(8)).view();

  const auto one =
    decide(view, gang("new", prio(10), members(1, gpu(8)), never_preempts()), open_settings());
  const auto two =
    decide(view, gang("new", prio(10), members(2, gpu(8)), never_preempts()), open_settings());

  EXPECT_EQ(one.result, outcome::placed);
  EXPECT_EQ(two.result, outcome::infeasible);
  EXPECT_THAT(two.victims, IsEmpty());
}

} // namespace reprieve::tests
