#include "tests/engine/required_node/bound_pod.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

/// One victim on a required node (docs/policies.md#required-node).
namespace reprieve::tests {

namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::UnorderedElementsAre;
using outcome = plan::outcome;

} // namespace

TEST(single_strategy, takes_the_one_whose_size_is_closest_to_the_request) {
  const auto view = cluster()
                      .node("n1", cpu(330))
                      .running("far", prio(1), cpu(115))
                      .running("close", prio(9), cpu(105))
                      .running("middle", prio(5), cpu(110))
                      .view();

  const auto made = decide(view, collector(cpu(100)), by_single(20));

  EXPECT_THAT(victims_of(made), UnorderedElementsAre("close")) << "before any lower priority";
  EXPECT_THAT(made.victims[0].reason, HasSubstr("strategy single"));
  EXPECT_THAT(made.victims[0].reason, HasSubstr("5% off the request"));
}

TEST(single_strategy, takes_nobody_beyond_the_deviation) {
  const auto view = cluster().node("n1", cpu(120)).running("web", prio(1), cpu(111)).view();

  const auto at_limit = decide(view, collector(cpu(100)), by_single(11));
  const auto beyond = decide(view, collector(cpu(100)), by_single(10));

  EXPECT_THAT(victims_of(at_limit), UnorderedElementsAre("web"));
  EXPECT_EQ(beyond.result, outcome::infeasible);
  EXPECT_THAT(beyond.why.summary,
              HasSubstr("single: web/g0/0/0 comes closest, and is 11% off the request, not at most "
                        "10%"));
}

TEST(single_strategy, deviation_is_exact_where_percents_would_round) {
  const auto view =
    cluster().node("n1", memory(2'000'000)).running("web", prio(1), memory(1'100'001)).view();

  const auto made = decide(view, collector(memory(1'000'000)), by_single(10));

  EXPECT_EQ(made.result, outcome::infeasible);
  EXPECT_THAT(made.why.summary, HasSubstr("11% off the request")) << "rounded up";
}

TEST(single_strategy, the_resource_that_is_farthest_off_is_the_deviation) {
  const auto view = cluster()
                      .node("n1", cpu(20), memory(260))
                      .running("near_in_cpu", prio(1), cpu(10), memory(130))
                      .running("near_in_both", prio(2), cpu(10), memory(109))
                      .view();

  const auto made = decide(view, collector(cpu(10), memory(100)), by_single(10));

  EXPECT_THAT(victims_of(made), UnorderedElementsAre("near_in_both"));
}

TEST(single_strategy, resources_that_are_not_asked_for_do_not_deviate) {
  const auto view =
    cluster().node("n1", cpu(10), gpu(8)).running("train", prio(1), cpu(10), gpu(8)).view();

  const auto made = decide(view, collector(cpu(10)), by_single(0));

  EXPECT_THAT(victims_of(made), UnorderedElementsAre("train"));
}

TEST(single_strategy, the_victim_covers_only_what_is_missing_beyond_free_room) {
  const auto view = cluster().node("n1", cpu(105)).running("web", prio(1), cpu(95)).view();

  const auto made = decide(view, collector(cpu(100)), by_single(5));

  EXPECT_THAT(victims_of(made), UnorderedElementsAre("web")) << "10 are free, 90 are missing";
}

TEST(single_strategy, the_victim_frees_enough_though_a_smaller_one_is_closer) {
  const auto view = cluster()
                      .node("n1", cpu(210))
                      .running("closer", prio(1), cpu(99))
                      .running("enough", prio(1), cpu(110))
                      .running("rest", prio(200), cpu(1))
                      .view();

  const auto made = decide(view, collector(cpu(100)), by_single(10));

  EXPECT_THAT(victims_of(made), UnorderedElementsAre("enough"));
}

TEST(single_strategy, deviation_is_measured_against_the_whole_request) {
  const auto view = cluster().node("n1", cpu(100)).running("web", prio(1), cpu(20)).view();

  const auto made = decide(view, collector(cpu(100)), by_single(10));

  EXPECT_EQ(made.result, outcome::infeasible) << "it is all that is missing, yet 80% off";
  EXPECT_THAT(made.why.summary, HasSubstr("80% off the request"));
}

TEST(single_strategy, a_class_comes_before_closeness) {
  auto built = cluster().node("n1", cpu(208)).node("n2", cpu(1));
  built.pods("driver", {"n1"}, prio(1), cpu(100));
  built.pods("executor", {"n2"}, prio(1), cpu(1), owned_by{"driver"});
  built.pods("web", {"n1"}, prio(1), cpu(108));

  const auto made = decide(built.view(), collector(cpu(100)), by_single(10));

  EXPECT_THAT(victims_of(made), UnorderedElementsAre("web"));
}

TEST(single_strategy, a_later_class_is_taken_where_an_earlier_one_has_nobody_within_the_deviation) {
  auto built = cluster().node("n1", cpu(250)).node("n2", cpu(1));
  built.pods("driver", {"n1"}, prio(1), cpu(100));
  built.pods("executor", {"n2"}, prio(1), cpu(1), owned_by{"driver"});
  built.pods("web", {"n1"}, prio(1), cpu(150));

  const auto made = decide(built.view(), collector(cpu(100)), by_single(10));

  EXPECT_THAT(victims_of(made), UnorderedElementsAre("driver"));
  EXPECT_THAT(made.victims[0].reason, HasSubstr("class owner"));
}

TEST(single_strategy, of_equal_deviation_the_lowest_priority_goes) {
  const auto view = cluster()
                      .node("n1", cpu(30))
                      .running("a", prio(3), cpu(10))
                      .running("b", prio(2), cpu(10))
                      .running("c", prio(4), cpu(10))
                      .view();

  const auto made = decide(view, collector(cpu(10)), by_single(10));

  EXPECT_THAT(victims_of(made), UnorderedElementsAre("b"));
}

TEST(single_strategy, of_equal_deviation_priority_and_age_the_larger_goes) {
  const auto view = cluster()
                      .node("n1", cpu(210))
                      .running("above", prio(1), cpu(110))
                      .running("below", prio(1), cpu(90))
                      .view();

  const auto made = decide(view, collector(cpu(100)), by_single(10));

  EXPECT_THAT(victims_of(made), UnorderedElementsAre("above"));
}

TEST(single_strategy, a_place_for_a_pod_is_no_resource_to_deviate_in) {
  auto built = cluster().node("n1", cpu(10), [](node& n) { n.capacity["pods"] = 2; });
  built.group("pair", {"n1", "n1"}, prio(1), cpu(5));

  const auto made = decide(built.view(), collector(cpu(10)), by_single(0));

  EXPECT_THAT(victims_of(made), UnorderedElementsAre("pair"));
}

TEST(single_strategy, has_no_fallback_where_it_is_the_only_strategy) {
  auto built = cluster().node("n1", cpu(4));
  built.pods("web", {"n1", "n1"}, prio(1), cpu(2));

  const auto made = decide(built.view(), collector(cpu(4)), by({victim_strategy::single}));

  EXPECT_EQ(made.result, outcome::infeasible);
  EXPECT_THAT(made.why.summary, HasSubstr("single: nobody frees enough alone"));
  EXPECT_THAT(made.why.summary, Not(HasSubstr("multiple")));
}

} // namespace reprieve::tests
