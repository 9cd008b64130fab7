#include "tests/engine/worlds/plan_reading.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

/// The number of pods on a node, where it is limited, is room like any other.
namespace reprieve::tests {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using outcome = plan::outcome;

namespace {

amount at_most_pods(std::int64_t n) {
  return {"pods", n};
}

} // namespace

TEST(pod_count, a_third_pod_preempts_on_a_node_for_two_though_cpu_is_free) {
  const auto view = cluster()
                      .node("n1", cpu(16), at_most_pods(2))
                      .running("low", prio(1), cpu(1))
                      .running("mid", prio(5), cpu(1))
                      .view();

  const auto made = decide(view, lone("new", prio(10), cpu(1)), open_settings());

  EXPECT_EQ(made.result, outcome::preempts);
  EXPECT_THAT(victims_of(made), ElementsAre("low"));
}

TEST(pod_count, a_second_pod_fits_on_a_node_for_two) {
  const auto view =
    cluster().node("n1", cpu(16), at_most_pods(2)).running("low", prio(1), cpu(1)).view();

  const auto made = decide(view, lone("new", prio(10), cpu(1)), open_settings());

  EXPECT_EQ(made.result, outcome::placed);
  EXPECT_THAT(made.victims, IsEmpty());
}

TEST(pod_count, a_pod_that_asks_for_nothing_counts) {
  const auto view = cluster().node("n1", cpu(16), at_most_pods(1)).running("low", prio(1)).view();

  const auto made = decide(view, lone("new", prio(10)), open_settings());

  EXPECT_THAT(victims_of(made), ElementsAre("low"));
}

TEST(pod_count, is_not_limited_on_a_node_that_does_not_name_it) {
  auto built = cluster().node("n1", cpu(16));
  for (int i = 0; i < 200; ++i)
    built.running("low-" + std::to_string(i), prio(1));

  const auto made =
    decide(built.view(), gang("new", prio(10), members(50, cpu(0))), open_settings());

  EXPECT_EQ(made.result, outcome::placed);
  EXPECT_THAT(pods_by_node(made), ElementsAre(Pair("n1", 50)));
}

TEST(pod_count, spreads_a_gang_over_nodes_that_take_few_pods) {
  const auto view = cluster()
                      .node("n1", cpu(16), at_most_pods(2))
                      .node("n2", cpu(16), at_most_pods(1))
                      .running("low", prio(1), cpu(1))
                      .view();

  const auto made = decide(view, gang("new", prio(10), members(3, cpu(1))), open_settings());

  EXPECT_THAT(pods_by_node(made), ElementsAre(Pair("n1", 2), Pair("n2", 1)));
  EXPECT_THAT(victims_of(made), ElementsAre("low"));
}

TEST(pod_count, that_falls_short_is_told_in_words) {
  const auto view =
    cluster().node("n1", cpu(16), at_most_pods(1)).running("high", prio(50), cpu(1)).view();

  const auto made = decide(view, lone("new", prio(10), cpu(1)), open_settings());

  EXPECT_EQ(made.result, outcome::infeasible);
  EXPECT_EQ(outcome_of(made, "n1").short_resource, "pods");
  EXPECT_EQ(made.why.summary,
            "new (priority 10) does not fit in n1: short of 1 place for pods even with all "
            "candidates gone: no room for 1 of 1 needed pod, n1 comes nearest");
}

TEST(pod_count, that_falls_short_on_many_nodes_is_told_in_words) {
  auto built = cluster();
  built.node("n1", cpu(16), at_most_pods(1)).running("a", prio(50), cpu(1));
  built.node("n2", cpu(16), at_most_pods(1)).running("b", prio(50), cpu(1));

  const auto made = decide(built.view(), lone("new", prio(10), cpu(1)), open_settings());

  EXPECT_EQ(made.why.summary, "new (priority 10) does not fit: 2 of 2 domains are short of places "
                              "for pods even with all candidates gone");
}

} // namespace reprieve::tests
