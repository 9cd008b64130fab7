#include "preemption/waiting/groundless.hpp"
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

// A queue that uses more than it is allocated loses pods first (docs/policies.md#queues).

TEST(queue_stage,
     a_queue_that_uses_more_than_it_is_allocated_loses_its_own_pods_until_it_does_not) {
  const auto result = queues(cpu(9))
                        .queue("a", weight{1})
                        .queue("b", weight{2})
                        .allocated("a", cpu(3))
                        .allocated("b", cpu(6))
                        .pods("a", "w", 5, cpu(1))
                        .run();

  EXPECT_EQ(line_of(result, "a", "cpu").overused, 2000);
  EXPECT_THAT(victims_in(result, "a"), SizeIs(2));
  EXPECT_EQ(allocated(result, "a"), 3000);
  EXPECT_EQ(allocated(result, "b"), 6000) << "nothing moves between queues for that";
}

TEST(queue_stage, overuse_costs_no_pod_of_another_queue) {
  const auto result = queues(cpu(9))
                        .queue("a", weight{1})
                        .queue("b", weight{2})
                        .allocated("a", cpu(3))
                        .allocated("b", cpu(6))
                        .pods("a", "w", 4, cpu(1), prio(9))
                        .pods("b", "w", 5, cpu(1), prio(-9))
                        .run();

  EXPECT_THAT(victims_in(result, "a"), SizeIs(1));
  EXPECT_THAT(victims_in(result, "b"), IsEmpty());
  EXPECT_EQ(allocated(result, "b"), 6000);
}

TEST(queue_stage, overuse_of_any_one_resource_is_enough) {
  const auto result = queues(cpu(4), gpu(8))
                        .queue("a")
                        .allocated("a", cpu(4), gpu(8))
                        .pods("a", "thinker", 5, cpu(1))
                        .running("a", "trainer", gpu(8), prio(-9))
                        .run();

  EXPECT_EQ(line_of(result, "a", "cpu").overused, 1000);
  EXPECT_EQ(line_of(result, "a", "gpu").overused, 0);
  EXPECT_THAT(victims_in(result, "a"), ElementsAre("thinker"));
}

TEST(queue_stage, overuse_ends_before_anything_is_received) {
  const auto result = queues(cpu(8))
                        .queue("a")
                        .queue("b")
                        .allocated("a", cpu(2))
                        .allocated("b", cpu(6))
                        .pods("a", "w", 3, cpu(1))
                        .run();

  EXPECT_THAT(victims_in(result, "a"), SizeIs(1));
  EXPECT_EQ(allocated(result, "a"), 4000);
}

TEST(queue_stage, those_who_go_for_overuse_count_where_room_is_made_for_others) {
  // 2 above allocated, then 1 more above deserved: the pod of 3 does for both.
  const auto result = queues(cpu(6))
                        .queue("a")
                        .queue("b")
                        .allocated("a", cpu(4))
                        .allocated("b", cpu(2))
                        .running("a", "first", cpu(2), prio(1))
                        .running("a", "second", cpu(3), prio(2))
                        .running("a", "third", cpu(1), prio(3))
                        .run();

  EXPECT_THAT(victims_in(result, "a"), ElementsAre("second"));
  ASSERT_THAT(outcome_of(result, "a").reprieved, SizeIs(1));
  EXPECT_EQ(outcome_of(result, "a").reprieved[0].portion.workload, "first");
}

TEST(queue_stage, queues_keep_what_runs_in_them_when_their_cluster_begins_to_have_this_stage) {
  const auto result = queues(cpu(9))
                        .queue("a", limited{cpu(5)})
                        .queue("b", limited{cpu(4)})
                        .pods("a", "w", 5, cpu(1))
                        .pods("b", "w", 2, cpu(1))
                        .run();

  EXPECT_THAT(all_victims(result), IsEmpty());
  EXPECT_EQ(allocated(result, "a"), 5000);
  EXPECT_EQ(allocated(result, "b"), 4000);
}

TEST(queue_stage, what_runs_above_the_limit_goes_when_a_cluster_begins_to_have_this_stage) {
  const auto result = queues(cpu(9)).queue("a", limited{cpu(3)}).pods("a", "w", 5, cpu(1)).run();

  EXPECT_EQ(allocated(result, "a"), 3000);
  EXPECT_THAT(victims_in(result, "a"), SizeIs(2));
}

TEST(queue_stage, who_stays_below_a_limit_costs_its_queue_nothing_of_what_the_limit_does_not_name) {
  const auto result = queues(cpu(20), gpu(8))
                        .queue("all", limited{cpu(3)})
                        .queue("a", below{"all"}, capped_by_demand{}, weight{1})
                        .queue("b", below{"all"}, capped_by_demand{}, weight{2})
                        .running("a", "important", cpu(2), prio(9))
                        .pods("a", "one", 2, cpu(1), gpu(1), prio(-1))
                        .pods("b", "low", 2, cpu(1), prio(-5))
                        .run();

  EXPECT_THAT(victims_in(result, "a"), ElementsAre("one"));
  EXPECT_THAT(victims_in(result, "b"), ElementsAre("low", "low"));
  EXPECT_EQ(line_of(result, "a", "gpu").to_free, 0);
  EXPECT_EQ(line_of(result, "a", "gpu").may_use, line_of(result, "a", "gpu").deserved);
}

TEST(queue_stage, overuse_ends_though_more_is_assigned_to_nobody) {
  const auto built =
    queues(cpu(9)).queue("a", limited{cpu(3)}).allocated("a", cpu(3)).pods("a", "w", 5, cpu(1));

  const auto result = built.run();
  const auto again = run_queue_stage(with_victims_leaving(built.input(), result));

  EXPECT_EQ(line_of(result, "a", "cpu").overused, 2000);
  EXPECT_EQ(allocated(result, "a"), 3000);
  EXPECT_THAT(victims_in(result, "a"), SizeIs(2));
  EXPECT_THAT(all_victims(again), IsEmpty());
  EXPECT_EQ(statuses_of(again), statuses_of(result));
}

TEST(queue_stage, what_a_queue_that_is_capped_by_demand_began_to_use_since_costs_nobody) {
  const auto result = queues(cpu(9))
                        .queue("a", capped_by_demand{})
                        .allocated("a", cpu(2))
                        .pods("a", "w", 5, cpu(1))
                        .run();

  EXPECT_EQ(allocated(result, "a"), 5000);
  EXPECT_THAT(all_victims(result), IsEmpty());
}

TEST(queue_stage, overuse_of_what_the_queue_waits_for_costs_nobody) {
  const auto result = queues(cpu(6))
                        .queue("a")
                        .queue("b")
                        .allocated("a", cpu(3))
                        .allocated("b", cpu(1))
                        .preempting("b", cpu(2))
                        .pods("a", "w", 3, cpu(1))
                        .pods("b", "w", 2, cpu(1))
                        .run();

  EXPECT_THAT(all_victims(result), IsEmpty());
  EXPECT_EQ(allocated(result, "b"), 3000);
}

TEST(queue_stage, room_that_overuse_took_from_another_queue_is_not_allocated_again) {
  // The 2 CPUs that late is allocated are used by greedy, who deserves 2 more than it has; giver
  // has to give these.
  const auto built = queues(cpu(9))
                       .queue("giver", weight{2})
                       .queue("greedy", weight{5})
                       .queue("late", weight{2})
                       .allocated("giver", cpu(4))
                       .allocated("greedy", cpu(3))
                       .allocated("late", cpu(2))
                       .pods("giver", "w", 4, cpu(1))
                       .pods("greedy", "w", 5, cpu(1));

  const auto result = built.run();
  const auto leaving = settle_queues(with_victims_leaving(built.input(), result));
  const auto gone = settle_queues(with_victims_gone(built.input(), result));

  EXPECT_THAT(victims_in(result, "greedy"), SizeIs(2));
  EXPECT_THAT(victims_in(result, "giver"), SizeIs(2));
  EXPECT_EQ(allocated(result, "greedy"), 3000);
  EXPECT_EQ(preempting(result, "greedy"), 2000);
  EXPECT_EQ(leaving, statuses_of(result));
  EXPECT_THAT(gone.at("greedy").allocated, ElementsAre(Pair("cpu", 5000)));
}

TEST(queue_stage, nobody_else_goes_for_one_that_was_told_and_does_not_go) {
  const auto stays_on = [](pod& p) {
    p.stop_told = at(10);
    make_immovable(p);
  };
  const auto result = queues(cpu(10))
                        .queue("a", limited{cpu(3)})
                        .allocated("a", cpu(3))
                        .running("a", "told", cpu(1), stays_on)
                        .pods("a", "others", 3, cpu(1))
                        .run();

  EXPECT_THAT(victims_in(result, "a"), IsEmpty());
  EXPECT_EQ(line_of(result, "a", "cpu").to_free, 0);
}

} // namespace reprieve::tests
