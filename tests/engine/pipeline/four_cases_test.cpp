#include "tests/engine/worlds/plan_reading.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace reprieve::tests {

using ::testing::ElementsAre;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;
using outcome = plan::outcome;

TEST(four_cases, a_pod_takes_the_room_of_pods) {
  const auto view = cluster()
                      .node("n1", gpu(8))
                      .running("keeps", prio(50), gpu(4))
                      .running("goes", prio(1), gpu(4))
                      .view();

  const auto made = decide(view, lone("new", prio(10), gpu(4)), open_settings());

  EXPECT_EQ(made.result, outcome::preempts);
  EXPECT_THAT(victims_of(made), UnorderedElementsAre("goes"));
  EXPECT_THAT(pods_by_node(made), ElementsAre(Pair("n1", 1)));
}

TEST(four_cases, a_pod_takes_the_room_of_a_group_which_goes_whole) {
  const auto view = cluster()
                      .node("n1", gpu(8))
                      .node("n2", gpu(8))
                      .group("goes", {"n1", "n2"}, prio(1), gpu(8))
                      .view();

  const auto made = decide(view, lone("new", prio(10), gpu(8)), open_settings());

  EXPECT_EQ(made.result, outcome::preempts);
  ASSERT_EQ(made.victims.size(), 1u);
  EXPECT_EQ(to_string(made.victims[0].portion), "goes/g0/0");
  EXPECT_THAT(made.victims[0].pods,
              ElementsAre(victim_pod{"goes-g0-0-0", "n1"}, victim_pod{"goes-g0-0-1", "n2"}));
  EXPECT_EQ(made.scored.pods, 2) << "the pod outside the domain counts in the score";
}

TEST(four_cases, a_gang_takes_the_room_of_pods) {
  const auto view = cluster()
                      .node("n1", gpu(8))
                      .running("a", prio(1), gpu(8))
                      .node("n2", gpu(8))
                      .running("b", prio(2), gpu(8))
                      .node("n3", gpu(8))
                      .running("c", prio(3), gpu(8))
                      .view();

  const auto made = decide(view, gang("new", prio(10), members(2, gpu(8))), open_settings());

  EXPECT_EQ(made.result, outcome::preempts);
  EXPECT_THAT(victims_of(made), UnorderedElementsAre("a", "b"));
  EXPECT_THAT(pods_by_node(made), ElementsAre(Pair("n1", 1), Pair("n2", 1)));
}

TEST(four_cases, a_gang_takes_the_room_of_groups_and_pods) {
  const auto view = cluster()
                      .node("n1", gpu(8))
                      .node("n2", gpu(8))
                      .node("n3", gpu(8))
                      .running("single", prio(3), gpu(8))
                      .group("whole", {"n1", "n2"}, prio(2), gpu(8))
                      .view();

  const auto made = decide(view, gang("new", prio(10), members(3, gpu(8))), open_settings());

  EXPECT_EQ(made.result, outcome::preempts);
  EXPECT_THAT(victims_of(made), UnorderedElementsAre("single", "whole"));
  EXPECT_EQ(made.scored.pods, 3);
}

TEST(four_cases, a_pod_takes_the_room_of_groups_and_pods_together) {
  const auto view = cluster()
                      .node("n1", gpu(8))
                      .running("single", prio(2), gpu(4))
                      .node("n2", gpu(8))
                      .running("important", prio(50), gpu(4))
                      .group("whole", {"n1", "n2"}, prio(1), gpu(4))
                      .view();

  const auto made = decide(view, lone("new", prio(10), gpu(8)), open_settings());

  EXPECT_THAT(victims_of(made), UnorderedElementsAre("single", "whole"));
  EXPECT_EQ(made.scored.pods, 3);
}

TEST(four_cases, of_several_replicas_only_the_one_in_the_way_goes_and_goes_whole) {
  auto built = cluster().node("n1", gpu(8)).node("n2", gpu(8)).node("n3", gpu(8));
  built.group("serve", {"n1", "n2"}, prio(1), gpu(4));
  built.group("serve", {"n2", "n3"}, prio(1), gpu(4), [](pod& p) {
    p.replica = 1;
    p.uid = p.name = "serve-g0-1-" + std::to_string(p.index);
  });
  built.pods("important", {"n3"}, prio(50), gpu(4));

  const auto made = decide(built.view(), lone("new", prio(10), gpu(8)), open_settings());

  ASSERT_EQ(made.victims.size(), 1u);
  EXPECT_EQ(to_string(made.victims[0].portion), "serve/g0/0");
  EXPECT_THAT(made.victims[0].pods,
              ElementsAre(victim_pod{"serve-g0-0-0", "n1"}, victim_pod{"serve-g0-0-1", "n2"}));
}

TEST(four_cases, a_gang_whose_pods_go_one_by_one_loses_only_what_is_in_the_way_and_runs_degraded) {
  const auto view = cluster()
                      .node("n1", gpu(8))
                      .node("n2", gpu(8))
                      .pods("serve", {"n1", "n1", "n2", "n2"}, prio(1), gpu(4))
                      .view();

  const auto made = decide(view, lone("new", prio(10), gpu(4)), open_settings());

  ASSERT_EQ(made.victims.size(), 1u);
  EXPECT_EQ(made.victims[0].pods.size(), 1u);
  EXPECT_EQ(made.scored.pods, 1);
}

TEST(four_cases, a_group_of_which_some_are_still_being_placed_stays) {
  const auto in =
    cluster().node("n1", gpu(8)).node("n2", gpu(8)).group("comes", {"n1", "n2"}, prio(1), gpu(8));
  auto view = in.view();
  auto held = in.all_pods().back();
  held.phase = pod_phase::nominated;
  view.put_pod(held);
  view.settle();

  const auto made = decide(view, lone("new", prio(10), gpu(8)), open_settings());

  EXPECT_EQ(made.result, outcome::infeasible);
}

} // namespace reprieve::tests
