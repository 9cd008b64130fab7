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

// -- the three cases ------------------------------------------------------------------------------

TEST(queue_stage, surplus_that_nobody_uses_moves_at_once) {
  const auto result = one_against_two().pods("a", "w", 3, cpu(1)).run();

  EXPECT_EQ(case_of(result, "a"), queue_case::surplus_unused);
  EXPECT_EQ(allocated(result, "a"), 3000);
  EXPECT_EQ(allocated(result, "b"), 3000);
  EXPECT_EQ(allocated(result, "c"), 3000);
  EXPECT_EQ(preempting(result, "b"), 0);
  EXPECT_THAT(all_victims(result), IsEmpty());
}

TEST(queue_stage, a_giver_that_uses_less_than_it_deserves_keeps_all_it_deserves_and_all_its_pods) {
  const auto result = one_against_two().pods("a", "w", 1, cpu(1)).run();

  EXPECT_EQ(case_of(result, "a"), queue_case::surplus_unused);
  EXPECT_EQ(allocated(result, "a"), 3000);
  EXPECT_EQ(line_of(result, "a", "cpu").given_unused, 6000);
  EXPECT_THAT(all_victims(result), IsEmpty());
}

TEST(queue_stage, a_receiver_loses_no_pods_and_keeps_what_it_has) {
  const auto result = queues(cpu(8))
                        .queue("a")
                        .queue("b")
                        .allocated("a", cpu(6))
                        .allocated("b", cpu(2))
                        .pods("a", "w", 6, cpu(1), prio(9))
                        .pods("b", "w", 2, cpu(1), prio(-9))
                        .run();

  EXPECT_EQ(case_of(result, "b"), queue_case::lacking);
  EXPECT_EQ(allocated(result, "b"), 2000);
  EXPECT_EQ(preempting(result, "b"), 2000);
  EXPECT_THAT(victims_in(result, "b"), IsEmpty()) << "of whatever priority";
  EXPECT_THAT(victims_in(result, "a"), SizeIs(2));
}

TEST(queue_stage, what_pods_use_above_deserved_is_preempting_until_they_have_gone) {
  const auto built = one_against_two().pods("a", "w", 7, cpu(1));

  const auto result = built.run();

  EXPECT_EQ(case_of(result, "a"), queue_case::surplus_used);
  EXPECT_EQ(allocated(result, "a"), 3000) << "drops at once";
  EXPECT_EQ(allocated(result, "b"), 1000);
  EXPECT_EQ(preempting(result, "b"), 2000);
  EXPECT_EQ(allocated(result, "c"), 1000);
  EXPECT_EQ(preempting(result, "c"), 2000);
  EXPECT_THAT(victims_in(result, "a"), SizeIs(4));
}

TEST(queue_stage, preempting_turns_into_allocated_as_pods_go) {
  const auto built = one_against_two().pods("a", "w", 9, cpu(1));
  const auto result = built.run();
  auto in = with_victims_leaving(built.input(), result);
  ASSERT_EQ(preempting(result, "b"), 3000);

  in.pods.erase(std::ranges::find_if(in.pods, &queue_pod::leaving));
  in.pods.erase(std::ranges::find_if(in.pods, &queue_pod::leaving));
  const auto two_gone = settle_queues(in);

  EXPECT_THAT(two_gone.at("b").allocated, ElementsAre(Pair("cpu", 1000)));
  EXPECT_THAT(two_gone.at("b").preempting, ElementsAre(Pair("cpu", 2000)));
  EXPECT_THAT(two_gone.at("c").allocated, ElementsAre(Pair("cpu", 1000)));
  EXPECT_EQ(two_gone.at("b").deserved, statuses_of(result).at("b").deserved);
}

TEST(queue_stage, a_queue_with_what_it_deserves_stays_as_it_is) {
  const auto result = queues(cpu(9))
                        .queue("a")
                        .queue("b")
                        .queue("c")
                        .allocated("a", cpu(3))
                        .allocated("b", cpu(6))
                        .pods("a", "w", 3, cpu(1))
                        .run();

  EXPECT_EQ(case_of(result, "a"), queue_case::constant);
  EXPECT_EQ(allocated(result, "a"), 3000);
  EXPECT_THAT(all_victims(result), IsEmpty());
}

TEST(queue_stage, several_receivers_share_by_how_much_each_lacks) {
  const auto result = queues(cpu(12))
                        .queue("a", weight{1})
                        .queue("b", weight{1})
                        .queue("c", weight{2})
                        .allocated("a", cpu(10))
                        .allocated("b", cpu(1))
                        .allocated("c", cpu(1))
                        .pods("a", "w", 8, cpu(1))
                        .run();

  // b lacks 2 and c lacks 5 of the 7 that a gives; 2 of these are free.
  EXPECT_EQ(allocated(result, "b"), 1000 + 571);
  EXPECT_EQ(preempting(result, "b"), 2000 - 571);
  EXPECT_EQ(allocated(result, "c"), 1000 + 1429);
  EXPECT_EQ(preempting(result, "c"), 5000 - 1429);
}

TEST(queue_stage, of_receivers_that_lack_the_same_the_first_by_name_gets_the_odd_one) {
  const auto result = queues(amount{"fpga", 4})
                        .queue("a", weight{0})
                        .queue("b")
                        .queue("c")
                        .allocated("a", amount{"fpga", 4})
                        .pods("a", "w", 3, amount{"fpga", 1})
                        .run();

  EXPECT_EQ(line_of(result, "b", "fpga").allocated, 1);
  EXPECT_EQ(line_of(result, "c", "fpga").allocated, 0);
  EXPECT_EQ(line_of(result, "c", "fpga").preempting, 2);
}

TEST(queue_stage, a_queue_may_give_one_resource_and_receive_another) {
  const auto result = queues(cpu(8), gpu(8))
                        .queue("a")
                        .queue("b")
                        .allocated("a", cpu(8), gpu(0))
                        .allocated("b", cpu(0), gpu(8))
                        .run();

  EXPECT_EQ(line_of(result, "a", "cpu").stands, queue_case::surplus_unused);
  EXPECT_EQ(line_of(result, "a", "gpu").stands, queue_case::lacking);
  EXPECT_EQ(line_of(result, "a", "gpu").allocated, 4000);
  EXPECT_EQ(line_of(result, "b", "cpu").allocated, 4000);
}

TEST(queue_stage, what_is_assigned_to_nobody_is_given_before_pods_have_gone) {
  const auto result = queues(cpu(9))
                        .queue("a", limited{cpu(3)})
                        .queue("b", limited{cpu(4)})
                        .allocated("a", cpu(5))
                        .pods("a", "w", 5, cpu(1))
                        .run();

  EXPECT_EQ(case_of(result, "a"), queue_case::surplus_used);
  EXPECT_EQ(allocated(result, "a"), 3000);
  EXPECT_EQ(allocated(result, "b"), 4000);
  EXPECT_EQ(preempting(result, "b"), 0);
}

TEST(queue_stage, a_queue_keeps_nothing_above_its_limit_though_nobody_lacks_it) {
  const auto result = queues(cpu(9))
                        .queue("a", limited{cpu(3)})
                        .allocated("a", cpu(7))
                        .pods("a", "w", 5, cpu(1))
                        .run();

  EXPECT_EQ(allocated(result, "a"), 3000);
  EXPECT_EQ(amount_of(result.unassigned, "cpu"), 6000);
  EXPECT_THAT(victims_in(result, "a"), SizeIs(2));
}

TEST(queue_stage, all_that_is_above_deserved_is_given_though_others_lack_less) {
  const auto result = queues(cpu(10))
                        .queue("a", limited{cpu(2)})
                        .queue("b", limited{cpu(3)})
                        .queue("c", limited{cpu(3)})
                        .allocated("a", cpu(4))
                        .allocated("b", cpu(6))
                        .pods("a", "w", 4, cpu(1))
                        .pods("b", "w", 6, cpu(1))
                        .run();

  // a is 2 above, b is 3 above, and c lacks 3 of these 5.
  EXPECT_EQ(line_of(result, "a", "cpu").given_used, 2000);
  EXPECT_EQ(line_of(result, "b", "cpu").given_used, 3000);
  EXPECT_THAT(victims_in(result, "a"), SizeIs(2));
  EXPECT_THAT(victims_in(result, "b"), SizeIs(3));
  EXPECT_EQ(preempting(result, "c"), 3000);
  EXPECT_EQ(amount_of(result.unassigned, "cpu"), 2000);
}

TEST(queue_stage, what_leaves_anyway_counts_in_what_is_given) {
  const auto result = queues(cpu(10))
                        .queue("a", limited{cpu(2)})
                        .queue("b", limited{cpu(2)})
                        .allocated("a", cpu(5))
                        .allocated("b", cpu(5))
                        .pods("a", "w", 5, cpu(1))
                        .pods("b", "stays", 3, cpu(1))
                        .pods("b", "leaves", 2, cpu(1), chosen_already())
                        .run();

  EXPECT_EQ(line_of(result, "b", "cpu").given_used, 3000);
  EXPECT_THAT(victims_in(result, "a"), SizeIs(3));
  EXPECT_THAT(victims_in(result, "b"), ElementsAre("stays"));
}

TEST(queue_stage, a_queue_that_is_capped_by_demand_keeps_what_runs_in_it_where_nobody_lacks) {
  const auto result = queues(cpu(9))
                        .queue("a", capped_by_demand{})
                        .queue("b", capped_by_demand{})
                        .allocated("a", cpu(7))
                        .pods("a", "w", 7, cpu(1))
                        .run();

  EXPECT_EQ(allocated(result, "a"), 7000);
  EXPECT_THAT(all_victims(result), IsEmpty());
}

TEST(queue_stage, a_promise_above_what_is_deserved_passes_to_who_lacks) {
  const auto result = queues(cpu(4))
                        .queue("a", limited{cpu(1)})
                        .queue("b", limited{cpu(0)})
                        .queue("c", limited{cpu(3)})
                        .allocated("a", cpu(1))
                        .preempting("b", cpu(3))
                        .pods("a", "leaves", 3, cpu(1), chosen_already())
                        .running("a", "stays", cpu(1))
                        .run();

  EXPECT_EQ(preempting(result, "b"), 0);
  EXPECT_THAT(why_moved(line_of(result, "b", "cpu")), HasSubstr("waits no more for 3"));
  EXPECT_EQ(preempting(result, "c"), 3000);
}

TEST(queue_stage, what_is_assigned_beyond_a_shrunken_capacity_is_taken_back) {
  const auto built = queues(cpu(6))
                       .queue("a")
                       .queue("b")
                       .allocated("a", cpu(5))
                       .allocated("b", cpu(5))
                       .pods("a", "w", 2, cpu(1))
                       .pods("b", "w", 4, cpu(1));

  const auto result = built.run();

  EXPECT_EQ(allocated(result, "a"), 3000);
  EXPECT_EQ(allocated(result, "b"), 3000);
  EXPECT_EQ(amount_of(result.unassigned, "cpu"), 0);
  EXPECT_THAT(victims_in(result, "b"), SizeIs(1));
  EXPECT_THAT(victims_in(result, "a"), IsEmpty());
}

TEST(queue_stage, new_capacity_goes_at_once_to_those_who_lack) {
  const auto result =
    queues(cpu(8)).queue("a").queue("b").allocated("a", cpu(3)).allocated("b", cpu(3)).run();

  EXPECT_EQ(allocated(result, "a"), 4000);
  EXPECT_EQ(allocated(result, "b"), 4000);
}

// -- most victims of a decision -------------------------------------------------------------------

TEST(queue_stage, the_next_run_goes_on_with_the_victims_once_those_before_have_gone) {
  const auto built = one_against_two().pods("a", "w", 9, cpu(1)).victims_per_decision(4);
  const auto first = built.run();
  const auto leaving = with_victims_leaving(built.input(), first);
  const auto gone = with_victims_gone(built.input(), first);

  const auto meanwhile = run_queue_stage(leaving);
  const auto second = run_queue_stage(gone);
  const auto third = run_queue_stage(with_victims_gone(gone, second));

  EXPECT_THAT(victims_in(first, "a"), SizeIs(4));
  EXPECT_EQ(line_of(first, "a", "cpu").not_freed, 2000);
  EXPECT_THAT(all_victims(meanwhile), IsEmpty()) << "they are still on their way";
  EXPECT_EQ(statuses_of(meanwhile), statuses_of(first));
  EXPECT_THAT(victims_in(second, "a"), SizeIs(2));
  EXPECT_EQ(line_of(second, "a", "cpu").not_freed, 0);
  EXPECT_THAT(all_victims(third), IsEmpty());
  EXPECT_EQ(allocated(third, "b"), 3000);
  EXPECT_EQ(allocated(third, "c"), 3000);
}

TEST(queue_stage, each_queue_may_have_as_many_victims_as_a_decision) {
  const auto result = queues(cpu(12))
                        .queue("a")
                        .queue("b")
                        .queue("c")
                        .allocated("a", cpu(6))
                        .allocated("b", cpu(6))
                        .pods("a", "v", 6, cpu(1))
                        .pods("b", "w", 6, cpu(1))
                        .victims_per_decision(1)
                        .run();

  EXPECT_THAT(victims_in(result, "a"), SizeIs(1));
  EXPECT_THAT(victims_in(result, "b"), SizeIs(1));
}

} // namespace reprieve::tests
