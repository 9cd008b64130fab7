#include "tests/engine/worlds/plan_reading.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace reprieve::tests {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

TEST(threshold, nobody_above_it_goes_even_if_more_have_to) {
  const auto view = cluster()
                      .node("n1", gpu(8))
                      .running("important", prio(9), gpu(4))
                      .running("a", prio(2), gpu(2))
                      .running("b", prio(1), gpu(2))
                      .view();

  const auto made = decide(view, lone("new", prio(10), gpu(4)), open_settings());

  EXPECT_THAT(victims_of(made), UnorderedElementsAre("a", "b"));
  EXPECT_EQ(made.why.threshold, 2);
  EXPECT_THAT(reason_for(made.why.reprieved, "important"), HasSubstr("above the threshold 2"));
}

TEST(threshold, a_gang_is_seated_where_the_least_important_run) {
  const auto view = cluster()
                      .node("n1", gpu(4))
                      .running("p9", prio(9), gpu(4))
                      .node("n2", gpu(4))
                      .running("p1", prio(1), gpu(4))
                      .node("n3", gpu(4))
                      .running("p5", prio(5), gpu(4))
                      .view();

  const auto made = decide(view, gang("new", prio(10), members(2, gpu(4))), open_settings());

  EXPECT_EQ(made.why.threshold, 5);
  EXPECT_THAT(pods_by_node(made), ElementsAre(Pair("n2", 1), Pair("n3", 1)));
}

TEST(threshold, free_room_is_used_before_any_victim) {
  const auto view = cluster()
                      .node("n1", gpu(4))
                      .running("p1", prio(1), gpu(4))
                      .node("n2", gpu(8))
                      .running("p2", prio(2), gpu(4))
                      .view();

  const auto made = decide(view, gang("new", prio(10), members(2, gpu(4))), open_settings());

  EXPECT_THAT(victims_of(made), UnorderedElementsAre("p1"));
  EXPECT_THAT(pods_by_node(made), ElementsAre(Pair("n1", 1), Pair("n2", 1)));
}

TEST(threshold, counts_how_many_pods_fit_on_a_node_at_each_priority) {
  auto built = cluster().node("n1", gpu(8)).node("n2", gpu(8));
  built.pods("low", {"n1", "n1"}, prio(1), gpu(4));
  built.pods("mid", {"n2", "n2"}, prio(2), gpu(4));

  const auto made =
    decide(built.view(), gang("new", prio(10), members(3, gpu(4))), open_settings());

  EXPECT_EQ(made.why.threshold, 2);
  EXPECT_THAT(victims_of(made), UnorderedElementsAre("low", "low", "mid"));
  EXPECT_THAT(pods_by_node(made), ElementsAre(Pair("n1", 2), Pair("n2", 1)));
}

TEST(put_back, the_more_important_of_two_equals_stays) {
  const auto view = cluster()
                      .node("n1", gpu(8))
                      .running("younger", prio(1), gpu(4), started{20})
                      .running("older", prio(1), gpu(4), started{10})
                      .view();

  const auto made = decide(view, lone("new", prio(10), gpu(4)), open_settings());

  EXPECT_THAT(victims_of(made), UnorderedElementsAre("younger"));
  EXPECT_EQ(reason_for(made.why.reprieved, "older"), "still fits on n1 beside new");
}

TEST(put_back, a_group_is_more_important_than_a_pod_of_its_priority) {
  const auto view = cluster()
                      .node("n1", gpu(8))
                      .running("pod", prio(1), gpu(4), started{30})
                      .group("whole", {"n1"}, prio(1), gpu(4), started{30})
                      .view();

  const auto made = decide(view, lone("new", prio(10), gpu(4)), open_settings());

  EXPECT_THAT(victims_of(made), UnorderedElementsAre("pod"));
}

TEST(put_back, whoever_still_fits_stays_though_less_important_than_a_victim) {
  const auto view = cluster()
                      .node("n1", gpu(8))
                      .running("large", prio(2), gpu(6))
                      .running("small", prio(1), gpu(2))
                      .view();

  const auto made = decide(view, lone("new", prio(10), gpu(6)), open_settings());

  EXPECT_THAT(victims_of(made), UnorderedElementsAre("large"));
  EXPECT_EQ(reason_for(made.why.reprieved, "small"), "still fits on n1 beside new");
}

TEST(put_back, a_group_comes_back_whole_or_not_at_all) {
  const auto view = cluster()
                      .node("n1", gpu(8))
                      .node("n2", gpu(8))
                      .group("whole", {"n1", "n2"}, prio(5), gpu(4))
                      .pods("single", {"n1", "n2"}, prio(1), gpu(2))
                      .view();

  // n1 takes the pod beside `whole` if its single goes, n2 only if `whole` goes.
  const auto made =
    decide(view, gang("new", prio(10), members(1, gpu(4)), members(1, gpu(6))), open_settings());

  EXPECT_THAT(victims_of(made), UnorderedElementsAre("whole"));
  EXPECT_EQ(made.scored.pods, 2);
}

TEST(put_back, the_room_a_group_leaves_elsewhere_saves_others_there) {
  // A seat on n1 costs `low` at first; but `whole` must go from n2, and then leaves n1 too.
  auto built = cluster().node("n1", gpu(7)).node("n2", gpu(4));
  built.pods("low", {"n1"}, prio(1), gpu(3));
  built.group("whole", {"n1", "n2"}, prio(5), gpu(3));

  const auto made =
    decide(built.view(), gang("new", prio(10), members(2, gpu(4))), open_settings());

  EXPECT_THAT(victims_of(made), UnorderedElementsAre("whole"));
  EXPECT_THAT(pods_by_node(made), ElementsAre(Pair("n1", 1), Pair("n2", 1)));
}

TEST(put_back, a_node_that_was_overdrawn_before_costs_nobody_who_is_not_in_the_way) {
  auto built = cluster().node("n1", gpu(8), cpu(4)).node("n2", gpu(8), cpu(4));
  built.pods("low", {"n1", "n2"}, prio(1), gpu(4), cpu(6));
  built.running("gpus", prio(2), gpu(4));

  const auto made =
    decide(built.view(), gang("new", prio(10), members(3, gpu(4))), open_settings());

  EXPECT_EQ(made.victims.size(), 2u);
}

TEST(put_back, the_group_with_more_pods_stays) {
  const auto view = cluster()
                      .node("n1", gpu(8))
                      .node("n2", gpu(8))
                      .group("small", {"n1"}, prio(1), gpu(4), started{0})
                      .group("large", {"n1", "n2"}, prio(1), gpu(4), started{30})
                      .running("important", prio(50), gpu(4))
                      .view();
  // Otherwise the score says the same, whatever the order.
  auto plain = open_settings();
  plain.placing = placing_rule::plain;

  const auto made = decide(view, lone("new", prio(10), gpu(4)), plain);

  EXPECT_THAT(victims_of(made), UnorderedElementsAre("small"));
  EXPECT_EQ(reason_for(made.why.reprieved, "large"), "still fits on n1 beside new");
}

} // namespace reprieve::tests
