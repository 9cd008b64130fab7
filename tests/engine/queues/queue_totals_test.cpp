#include "tests/support/queue_builder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace reprieve::tests {

namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

} // namespace

// What is told of pods that are not listed one by one.

TEST(queue_stage, totals_count_as_the_pods_that_they_stand_for) {
  auto listed = queues(cpu(9), amount{"pods", 90})
                  .queue("a")
                  .queue("b")
                  .allocated("a", cpu(6))
                  .allocated("b", cpu(3))
                  .pods("a", "w", 2, cpu(1))
                  .pods("b", "v", 3, cpu(1))
                  .input();
  auto summed = listed;
  summed.pods.clear();
  summed.totals["a"].staying = {{"cpu", 2000}, {"pods", 2}};
  summed.totals["b"].staying = {{"cpu", 3000}, {"pods", 3}};

  const auto result = run_queue_stage(listed);

  ASSERT_THAT(all_victims(result), IsEmpty());
  EXPECT_EQ(run_queue_stage(summed), result);
  EXPECT_EQ(settle_queues(summed), settle_queues(listed));
}

TEST(queue_stage, totals_tell_whose_pods_have_to_be_listed) {
  auto in = one_against_two().input();
  in.totals["a"].staying = {{"cpu", 9000}};

  const auto result = run_queue_stage(in);

  EXPECT_THAT(all_victims(result), IsEmpty());
  EXPECT_EQ(line_of(result, "a", "cpu").to_free, 6000);
  EXPECT_EQ(line_of(result, "b", "cpu").to_free, 0);
}

TEST(queue_stage, totals_of_what_leaves_are_used_until_they_are_gone) {
  auto in = one_against_two().input();
  in.totals["a"].leaving = {{"cpu", 9000}};

  const auto result = run_queue_stage(in);

  EXPECT_EQ(line_of(result, "a", "cpu").leaving, 9000);
  EXPECT_EQ(line_of(result, "a", "cpu").to_free, 0);
  EXPECT_EQ(preempting(result, "b"), 3000) << "the room is not free yet";
}

TEST(queue_stage, room_that_some_leave_and_others_are_promised_is_counted_once) {
  auto in = queues(cpu(24))
              .queue("a", weight{3}, capped_by_demand{})
              .queue("b", weight{1}, capped_by_demand{})
              .input();
  // Of a's pods some go for others of its own; what stays fills the nodes, and no more.
  in.totals["a"].staying = {{"cpu", 12000}};
  in.totals["a"].leaving = {{"cpu", 9000}};
  in.totals["b"].staying = {{"cpu", 12000}};

  const auto result = run_queue_stage(in);

  EXPECT_EQ(line_of(result, "a", "cpu").to_free, 0);
  EXPECT_EQ(line_of(result, "b", "cpu").to_free, 0) << "nobody comes to more than the nodes have";
}

TEST(queue_stage, totals_of_a_queue_that_does_not_exist_stand_outside) {
  auto in = one_against_two().input();
  in.totals["nowhere"] = {{{"cpu", 1000}}, {{"cpu", 500}}};

  EXPECT_THAT(run_queue_stage(in).used_outside, ElementsAre(Pair("cpu", 1500)));
}

TEST(queue_stage, a_pod_that_waits_asks_for_one_of_the_pods_too) {
  auto in = queues(cpu(8), amount{"pods", 4})
              .queue("a")
              .queue("b", capped_by_demand{})
              .allocated("a", cpu(8), amount{"pods", 4})
              .pods("a", "w", 4, cpu(1))
              .input();
  add_pending(in, "b", {{"cpu", 1000}});
  add_pending(in, "b", {{"cpu", 1000}});

  const auto result = run_queue_stage(in);

  EXPECT_EQ(line_of(result, "b", "pods").deserved, 2);
  EXPECT_EQ(line_of(result, "b", "cpu").deserved, 2000);
  EXPECT_THAT(victims_in(result, "a"), SizeIs(2));
}

} // namespace reprieve::tests
