#include "preemption/policies/queues/queue_explain.hpp"
#include "tests/support/queue_builder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace reprieve::tests {

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

} // namespace

// -- hierarchy ------------------------------------------------------------------------------------

TEST(queue_runs, a_parent_has_the_sums_of_its_children) {
  const auto result = queues(cpu(12))
                        .queue("top")
                        .queue("x", below{"top"})
                        .queue("y", below{"top"})
                        .queue("z")
                        .allocated("z", cpu(12))
                        .pods("z", "w", 9, cpu(1))
                        .run();

  const auto statuses = statuses_of(result);
  EXPECT_EQ(amount_of(statuses.at("top").deserved, "cpu"), 6000);
  EXPECT_EQ(amount_of(statuses.at("top").allocated, "cpu"), 3000);
  EXPECT_EQ(amount_of(statuses.at("top").preempting, "cpu"), 3000);
  EXPECT_EQ(amount_of(statuses.at("x").allocated, "cpu"), 1500);
  EXPECT_EQ(amount_of(statuses.at("x").preempting, "cpu"), 1500);
  EXPECT_EQ(case_of(result, "top"), queue_case::lacking);
}

TEST(queue_runs, own_pods_of_a_parent_keep_their_part_from_run_to_run) {
  const auto built = queues(cpu(12))
                       .queue("top")
                       .queue("x", below{"top"})
                       .queue("y", below{"top"})
                       .pods("top", "own", 3, cpu(1));
  const auto first = built.run();

  const auto second = run_queue_stage(with_victims_leaving(built.input(), first));

  ASSERT_TRUE(first.queues[1].own_pods);
  EXPECT_EQ(first.queues[1].lines[0].allocated, 3000);
  EXPECT_EQ(second.queues[1].lines[0].allocated_before, 3000);
  EXPECT_EQ(allocated(second, "x"), 4500);
  EXPECT_EQ(statuses_of(first), statuses_of(second));
}

TEST(queue_runs, a_queue_that_gets_children_passes_its_share_on) {
  const auto result = queues(cpu(8))
                        .queue("top")
                        .queue("x", below{"top"})
                        .allocated("top", cpu(8))
                        .pods("top", "own", 6, cpu(1))
                        .run();

  EXPECT_EQ(result.queues[1].lines[0].allocated_before, 8000);
  EXPECT_EQ(result.queues[1].lines[0].allocated, 4000);
  EXPECT_EQ(allocated(result, "x"), 2000);
  EXPECT_EQ(preempting(result, "x"), 2000);
  EXPECT_THAT(victims_in(result, "top"), SizeIs(2));
}

// -- from run to run ------------------------------------------------------------------------------

TEST(queue_runs, running_again_while_victims_leave_chooses_nobody_and_moves_nothing) {
  const auto built = one_against_two().pods("a", "w", 9, cpu(1));
  const auto result = built.run();

  const auto again = run_queue_stage(with_victims_leaving(built.input(), result));

  EXPECT_THAT(victims_in(result, "a"), SizeIs(6));
  EXPECT_THAT(all_victims(again), IsEmpty());
  EXPECT_EQ(statuses_of(again), statuses_of(result));
  EXPECT_EQ(line_of(again, "a", "cpu").used, 9000) << "they are used until they are gone";
  EXPECT_EQ(line_of(again, "a", "cpu").leaving, 6000);
}

TEST(queue_runs, running_again_when_victims_are_gone_allocates_what_was_promised) {
  const auto built = one_against_two().pods("a", "w", 9, cpu(1));
  const auto result = built.run();

  const auto again = run_queue_stage(with_victims_gone(built.input(), result));

  EXPECT_THAT(all_victims(again), IsEmpty());
  EXPECT_EQ(allocated(again, "b"), 3000);
  EXPECT_EQ(allocated(again, "c"), 3000);
}

TEST(queue_runs, what_victims_free_beyond_what_was_asked_for_stays_with_their_queue) {
  const auto built = queues(cpu(8))
                       .queue("a")
                       .queue("b")
                       .allocated("a", cpu(6))
                       .allocated("b", cpu(2))
                       .pods("a", "w", 2, cpu(3));
  const auto result = built.run();

  const auto after = settle_queues(with_victims_gone(built.input(), result));

  EXPECT_THAT(victims_in(result, "a"), SizeIs(1));
  EXPECT_THAT(after.at("a").allocated, ElementsAre(Pair("cpu", 4000)));
  EXPECT_THAT(after.at("a").used, ElementsAre(Pair("cpu", 3000)));
  EXPECT_THAT(after.at("b").allocated, ElementsAre(Pair("cpu", 4000)));
}

TEST(queue_runs, the_share_of_a_deleted_queue_goes_to_the_others_once_its_pods_have_gone) {
  auto built = queues(cpu(8))
                 .queue("a")
                 .allocated("a", cpu(4))
                 .allocated("deleted", cpu(4))
                 .pods("deleted", "w", 3, cpu(1));

  const auto result = built.run();

  EXPECT_EQ(amount_of(result.used_outside, "cpu"), 3000);
  EXPECT_EQ(allocated(result, "a"), 5000);
  EXPECT_EQ(preempting(result, "a"), 3000);
  EXPECT_THAT(all_victims(result), IsEmpty());
}

// -- what goes in and what comes out -------------------------------------------------------------

TEST(queue_runs, the_numbers_behind_a_case_are_told_in_a_sentence) {
  const auto result = one_against_two().pods("a", "w", 7, cpu(1)).run();

  EXPECT_EQ(why_moved(line_of(result, "a", "cpu")),
            "case 01.2: deserves 3 cpu, was allocated 9 and uses 7: gives 2 that nobody uses, "
            "gives 4 when the pods that use it have gone");
  EXPECT_EQ(why_moved(line_of(result, "b", "cpu")),
            "case 03: deserves 3 cpu, was allocated 0 and uses 0: receives 3, waits for 2 until "
            "the pods that use it have gone");
}

TEST(queue_runs, only_resources_of_the_capacity_are_shared) {
  const auto result = queues(cpu(4)).queue("a").pods("a", "w", 2, cpu(1), gpu(1)).run();

  EXPECT_THAT(outcome_of(result, "a").lines, SizeIs(1));
  EXPECT_THAT(all_victims(result), IsEmpty());
}

TEST(queue_runs, every_pod_counts_as_one_where_the_number_of_pods_is_shared) {
  const auto result = queues(amount{"pods", 4})
                        .queue("a")
                        .queue("b")
                        .allocated("a", amount{"pods", 4})
                        .pods("a", "w", 3, cpu(1))
                        .run();

  EXPECT_EQ(line_of(result, "a", "pods").used, 3);
  EXPECT_THAT(victims_in(result, "a"), SizeIs(1));
}

TEST(queue_runs, pods_come_from_node_records_by_the_queue_of_their_workload) {
  const auto records = cluster()
                         .node("n1", cpu(8))
                         .running("train", cpu(4), prio(7))
                         .running("stray", cpu(1))
                         .running("old", cpu(1), chosen_already())
                         .all_pods();
  queue_stage_input in;

  add_pods(in, records, "gpus", {{"train", "research"}, {"old", "research"}});

  ASSERT_THAT(in.pods, SizeIs(3));
  EXPECT_EQ(in.pods[0].queue, "research");
  EXPECT_EQ(in.pods[0].resource_group, "gpus");
  EXPECT_EQ(in.pods[0].priority, 7);
  EXPECT_EQ(to_string(in.pods[0].portion), "train/g0/0/0");
  EXPECT_EQ(in.pods[1].queue, "");
  EXPECT_TRUE(in.pods[2].leaving());
}

TEST(queue_runs, pods_without_a_node_use_nothing) {
  const auto result = queues(cpu(4))
                        .queue("a")
                        .running("a", "waits", cpu(4), in_phase{pod_phase::pending})
                        .running("a", "was", cpu(4), in_phase{pod_phase::gone})
                        .run();

  EXPECT_EQ(line_of(result, "a", "cpu").used, 0);
}

} // namespace reprieve::tests
