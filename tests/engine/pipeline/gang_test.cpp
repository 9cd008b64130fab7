#include "tests/engine/worlds/plan_reading.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace reprieve::tests {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;
using outcome = plan::outcome;

TEST(gang, nobody_goes_for_a_gang_that_does_not_fit_whole) {
  const auto view = cluster()
                      .node("n1", gpu(8))
                      .running("low", prio(1), gpu(8))
                      .node("n2", gpu(8))
                      .running("high", prio(50), gpu(8))
                      .view();

  const auto made = decide(view, gang("new", prio(10), members(2, gpu(8))), open_settings());

  EXPECT_EQ(made.result, outcome::infeasible);
  EXPECT_THAT(made.victims, IsEmpty());
  EXPECT_THAT(made.assignments, IsEmpty());
}

TEST(gang, groups_of_different_templates_are_seated_large_pods_first) {
  const auto view = cluster()
                      .node("n1", gpu(8))
                      .running("a", prio(1), gpu(8))
                      .node("n2", gpu(4))
                      .running("b", prio(1), gpu(4))
                      .view();

  // Small pods first would take n1 and leave no node for the large one.
  const auto made =
    decide(view, gang("new", prio(10), members(1, gpu(4)), members(1, gpu(8))), open_settings());

  EXPECT_EQ(made.result, outcome::preempts);
  ASSERT_EQ(made.assignments.size(), 2u);
  EXPECT_EQ(made.assignments[0].placed.group, "g0") << "told in the order they were asked for";
  EXPECT_EQ(made.assignments[0].placed.node, "n2");
  EXPECT_EQ(made.assignments[1].placed.node, "n1");
}

TEST(gang, size_is_the_largest_share_of_any_resource) {
  // A pod with 3 of 12 GPUs is larger than one with 4 of 100 CPUs.
  const auto view = cluster()
                      .node("n1", gpu(3), cpu(4))
                      .running("a", prio(1), gpu(3), cpu(4))
                      .node("n2", gpu(9), cpu(96))
                      .running("b", prio(2), gpu(9), cpu(96))
                      .view();

  const auto made =
    decide(view, gang("new", prio(10), members(1, cpu(4)), members(1, gpu(3))), open_settings());

  ASSERT_EQ(made.assignments.size(), 2u);
  EXPECT_EQ(made.assignments[1].placed.node, "n1") << "the larger chose first";
}

TEST(gang, each_group_keeps_to_its_own_node_selector) {
  const auto view = cluster()
                      .node("n1", gpu(8), label{"kind", "gpu"})
                      .running("a", prio(1), gpu(8))
                      .node("n2", gpu(8), label{"kind", "cpu"})
                      .running("b", prio(5), gpu(8))
                      .view();

  const auto made = decide(view,
                           gang("new", prio(10), members(1, gpu(4), selecting{"kind", "gpu"}),
                                members(1, gpu(4), selecting{"kind", "cpu"})),
                           open_settings());

  EXPECT_THAT(pods_by_node(made), ElementsAre(Pair("n1", 1), Pair("n2", 1)));
  EXPECT_THAT(victims_of(made), UnorderedElementsAre("a", "b"));
}

TEST(gang, templates_that_fit_only_when_packed_tightly_fit) {
  // By name the large pod takes n1 and leaves only one seat for the two small ones.
  const auto who = gang("new", prio(10), members(1, gpu(5)), members(2, gpu(4)));
  const auto empty = cluster().node("n1", gpu(8)).node("n2", gpu(5));
  const auto full = cluster()
                      .node("n1", gpu(8))
                      .running("a", prio(2), gpu(8))
                      .running("idle", prio(9), gpu(0))
                      .node("n2", gpu(5))
                      .running("b", prio(1), gpu(5));

  const auto placed = decide(empty.view(), who, open_settings());
  const auto preempting = decide(full.view(), who, open_settings());

  EXPECT_EQ(placed.result, outcome::placed);
  EXPECT_THAT(pods_by_node(placed), ElementsAre(Pair("n1", 2), Pair("n2", 1)));
  EXPECT_EQ(preempting.result, outcome::preempts);
  EXPECT_THAT(pods_by_node(preempting), ElementsAre(Pair("n1", 2), Pair("n2", 1)));
  EXPECT_EQ(preempting.why.threshold, 2);
}

TEST(gang, templates_that_fit_only_when_each_node_is_shared_fit) {
  // In any order of turns those first take a node as far as they can, and the others lack a seat.
  auto built = cluster().node("n1", gpu(7)).node("n2", gpu(7));
  built.pods("low", {"n1", "n2"}, prio(1), gpu(1));

  const auto made = decide(
    built.view(), gang("new", prio(10), members(2, gpu(3)), members(4, gpu(2))), open_settings());

  EXPECT_EQ(made.result, outcome::preempts);
  EXPECT_THAT(victims_of(made), UnorderedElementsAre("low", "low"));
  EXPECT_THAT(pods_by_node(made), ElementsAre(Pair("n1", 3), Pair("n2", 3)));
}

TEST(gang, several_pods_share_a_node_where_they_fit) {
  const auto view = cluster()
                      .node("n1", gpu(8))
                      .running("a", prio(1), gpu(8))
                      .node("n2", gpu(8))
                      .running("b", prio(1), gpu(8))
                      .view();

  const auto made = decide(view, gang("new", prio(10), members(4, gpu(2))), open_settings());

  EXPECT_THAT(pods_by_node(made), ElementsAre(Pair("n1", 4)));
  EXPECT_THAT(victims_of(made), UnorderedElementsAre("a"));
}

TEST(gang, the_group_that_suits_the_fewest_nodes_chooses_first) {
  // By size the large pod would take n1, the only node for the small one.
  const auto view = cluster()
                      .node("n1", gpu(6), label{"kind", "x"})
                      .node("n2", gpu(6))
                      .running("low", prio(1), gpu(1))
                      .view();

  const auto made = decide(
    view, gang("new", prio(10), members(1, gpu(5)), members(1, gpu(4), selecting{"kind", "x"})),
    open_settings());

  EXPECT_EQ(made.result, outcome::placed);
  EXPECT_THAT(pods_by_node(made), ElementsAre(Pair("n1", 1), Pair("n2", 1)));
}

} // namespace reprieve::tests
