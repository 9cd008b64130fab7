#include "preemption/policies/queues/queue_explain.hpp"
#include "tests/support/queue_builder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace reprieve::tests {

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// Queue `a` may use 2 CPUs and 4 GPUs.
queues two_cpus() {
  return queues(cpu(2), gpu(4)).queue("a").allocated("a", cpu(2), gpu(4));
}

std::string reason_for(const std::vector<spared>& list, std::string_view workload) {
  const auto found =
    std::ranges::find_if(list, [&](const spared& s) { return s.portion.workload == workload; });
  return found == list.end() ? "" : found->reason;
}

std::string why_passed_over(const queue_stage_result& result, std::string_view workload) {
  return reason_for(outcome_of(result, "a").passed_over, workload);
}

} // namespace

TEST(queue_victims, lower_priority_goes_first) {
  const auto result = two_cpus()
                        .running("a", "a-high", cpu(1), prio(9), not_started())
                        .running("a", "b-low", cpu(1), prio(-1), started{0})
                        .running("a", "c-middle", cpu(1), prio(5), started{900})
                        .run();

  EXPECT_THAT(victims_in(result, "a"), ElementsAre("b-low"));
}

TEST(queue_victims, who_has_not_started_goes_before_who_runs) {
  const auto result = two_cpus()
                        .running("a", "runs", cpu(1), started{3599})
                        .running("a", "still-waits", cpu(1), not_started())
                        .running("a", "runs-too", cpu(1), started{0})
                        .run();

  EXPECT_THAT(victims_in(result, "a"), ElementsAre("still-waits"));
  EXPECT_THAT(outcome_of(result, "a").victims[0].reason, HasSubstr("has not started"));
}

TEST(queue_victims, who_has_run_for_less_time_goes_first) {
  const auto result = two_cpus()
                        .running("a", "a-old", cpu(1), started{0})
                        .running("a", "b-young", cpu(1), started{3000})
                        .running("a", "c-middle", cpu(1), started{1000})
                        .run();

  EXPECT_THAT(victims_in(result, "a"), ElementsAre("b-young"));
}

TEST(queue_victims, the_first_by_name_goes_where_nothing_else_decides) {
  const auto result = two_cpus()
                        .running("a", "w3", cpu(1))
                        .running("a", "w1", cpu(1))
                        .running("a", "w2", cpu(1))
                        .run();

  EXPECT_THAT(victims_in(result, "a"), ElementsAre("w1"));
}

TEST(queue_victims, a_reason_has_the_numbers) {
  const auto result = two_cpus().pods("a", "w", 3, cpu(1), prio(4), started{3000}).run();

  ASSERT_THAT(outcome_of(result, "a").victims, SizeIs(1));
  EXPECT_EQ(outcome_of(result, "a").victims[0].reason,
            "queue a uses 3 cpu and may use 2, of which this holds 1; its priority is 4 and it "
            "has run for 10m");
}

TEST(queue_victims, who_leaves_already_counts_as_gone) {
  const auto result = two_cpus()
                        .running("a", "chosen", cpu(1), chosen_already())
                        .running("a", "ends", cpu(1), in_phase{pod_phase::terminating})
                        .pods("a", "w", 2, cpu(1))
                        .run();

  EXPECT_EQ(line_of(result, "a", "cpu").used, 4000);
  EXPECT_THAT(all_victims(result), IsEmpty());
}

TEST(queue_victims, who_holds_nothing_of_what_is_overused_is_passed_over) {
  const auto result =
    two_cpus().running("a", "gpu-only", gpu(1), prio(-5)).pods("a", "w", 3, cpu(1)).run();

  EXPECT_THAT(victims_in(result, "a"), ElementsAre("w"));
  EXPECT_EQ(why_passed_over(result, "gpu-only"), "holds no cpu");
}

TEST(queue_victims, those_who_are_not_needed_are_put_back_most_important_first) {
  // 4 too much: the small ones are chosen in turn, then the large one, which does without two of
  // them; the more important two stay.
  const auto result = two_cpus()
                        .running("a", "small-1", cpu(1), prio(1))
                        .running("a", "small-2", cpu(1), prio(2))
                        .running("a", "small-3", cpu(1), prio(3))
                        .running("a", "large", cpu(3), prio(4))
                        .run();

  EXPECT_THAT(victims_in(result, "a"), ElementsAre("small-1", "large"));
  const auto& reprieved = outcome_of(result, "a").reprieved;
  ASSERT_THAT(reprieved, SizeIs(2));
  EXPECT_EQ(reprieved[0].portion.workload, "small-3");
  EXPECT_EQ(reprieved[1].portion.workload, "small-2");
  EXPECT_THAT(reprieved[0].reason, HasSubstr("free enough"));
}

TEST(queue_victims, one_who_frees_two_resources_may_do_for_both) {
  const auto result = two_cpus()
                        .running("a", "cpu-only", cpu(2), prio(1))
                        .running("a", "both", cpu(2), gpu(5), prio(2))
                        .run();

  EXPECT_THAT(victims_in(result, "a"), ElementsAre("both"));
}

TEST(queue_victims, a_group_goes_whole_wherever_its_pods_are) {
  const auto result =
    two_cpus().group("a", "gang", 3, cpu(1), prio(1)).running("a", "single", cpu(1), prio(2)).run();

  ASSERT_THAT(victims_in(result, "a"), ElementsAre("gang"));
  const auto& told = outcome_of(result, "a").victims[0];
  EXPECT_TRUE(told.portion.whole_replica());
  ASSERT_THAT(told.pods, SizeIs(3));
  EXPECT_EQ(told.pods[0].node, "n0");
  EXPECT_EQ(told.pods[2].node, "n2");
}

TEST(queue_victims, a_group_counts_with_its_highest_priority_and_its_first_start) {
  auto in = two_cpus()
              .group("a", "gang", 2, cpu(1), prio(1), started{3000})
              .running("a", "single", cpu(1), prio(5), started{500})
              .input();
  in.pods[1].priority = 5;
  in.pods[1].started = at(100);

  const auto result = run_queue_stage(in);

  EXPECT_THAT(victims_in(result, "a"), ElementsAre("single"));
}

TEST(queue_victims, daemon_pods_never_go) {
  const auto result =
    two_cpus().running("a", "exporter", cpu(1), prio(-5), daemon()).pods("a", "w", 2, cpu(1)).run();

  EXPECT_THAT(victims_in(result, "a"), ElementsAre("w"));
  EXPECT_THAT(why_passed_over(result, "exporter"), HasSubstr("daemon"));
}

TEST(queue_victims, a_protected_member_keeps_its_whole_group) {
  const auto result = two_cpus()
                        .group("a", "led", 2, cpu(1), prio(-5), protected_index{0})
                        .running("a", "w", cpu(1))
                        .run();

  EXPECT_THAT(victims_in(result, "a"), ElementsAre("w"));
  EXPECT_THAT(why_passed_over(result, "led"), HasSubstr("whole or not at all"));
}

TEST(queue_victims, a_protected_member_keeps_only_itself_where_pods_go_one_by_one) {
  const auto result = two_cpus().pods("a", "led", 3, cpu(1), protected_index{0}).run();

  ASSERT_THAT(outcome_of(result, "a").victims, SizeIs(1));
  EXPECT_EQ(outcome_of(result, "a").victims[0].portion.index, 1);
  EXPECT_THAT(why_passed_over(result, "led"), HasSubstr("protected member"));
}

TEST(queue_victims, an_opt_out_counts_only_where_it_is_a_veto) {
  auto built =
    two_cpus().running("a", "shy", cpu(1), prio(-5), opted_out()).pods("a", "w", 2, cpu(1));

  const auto without = built.run();
  const auto with = built.opt_out_is_veto().run();

  EXPECT_THAT(victims_in(without, "a"), ElementsAre("shy"));
  EXPECT_THAT(victims_in(with, "a"), ElementsAre("w"));
  EXPECT_THAT(why_passed_over(with, "shy"), HasSubstr("opted out"));
}

TEST(queue_victims, who_has_not_run_for_the_minimum_runtime_stays) {
  const auto result = two_cpus()
                        .running("a", "young", cpu(1), started{3000})
                        .running("a", "older", cpu(1), started{2700})
                        .running("a", "oldest", cpu(1), started{0})
                        .minimum_runtime(std::chrono::minutes{15})
                        .run();

  EXPECT_THAT(victims_in(result, "a"), ElementsAre("older"));
  EXPECT_THAT(why_passed_over(result, "young"), HasSubstr("has run for 10m"));
}

TEST(queue_victims, who_asks_for_a_minimum_runtime_gets_it) {
  const auto asks = [](pod& p) { p.minimum_runtime = std::chrono::hours{2}; };
  const auto result = two_cpus()
                        .running("a", "young", cpu(1), started{3000}, asks)
                        .pods("a", "older", 2, cpu(1), started{0})
                        .run();

  EXPECT_THAT(victims_in(result, "a"), ElementsAre("older"));
  EXPECT_THAT(why_passed_over(result, "young"), HasSubstr("minimum runtime of 2h"));
}

TEST(queue_victims, a_group_has_run_long_enough_when_all_its_pods_have) {
  const auto one_for_two_hours = [](pod& p) {
    p.minimum_runtime = std::chrono::hours{p.index == 0 ? 2 : 0};
  };
  const auto result = two_cpus()
                        .group("a", "gang", 2, cpu(1), prio(-5), started{0}, one_for_two_hours)
                        .running("a", "w", cpu(1), started{0})
                        .run();

  EXPECT_THAT(victims_in(result, "a"), ElementsAre("w"));
}

TEST(queue_victims, a_guard_holds_in_its_own_resource_group_only) {
  auto in = two_cpus()
              .running("a", "there", cpu(1), started{3000})
              .pods("a", "here", 2, cpu(1), started{0})
              .minimum_runtime(std::chrono::minutes{15})
              .input();
  in.pods[0].resource_group = "elsewhere";

  EXPECT_THAT(victims_in(run_queue_stage(in), "a"), ElementsAre("there"));
}

TEST(queue_victims, what_is_being_placed_is_left_to_its_decision) {
  const auto result = two_cpus()
                        .running("a", "nominated", cpu(1), prio(-5), in_phase{pod_phase::nominated})
                        .pods("a", "w", 2, cpu(1))
                        .run();

  EXPECT_THAT(victims_in(result, "a"), ElementsAre("w"));
  EXPECT_THAT(why_passed_over(result, "nominated"), HasSubstr("being placed"));
}

TEST(queue_victims, what_nobody_may_free_is_told) {
  const auto result =
    two_cpus().pods("a", "exporter", 4, cpu(1), daemon()).running("a", "w", cpu(1)).run();

  EXPECT_THAT(victims_in(result, "a"), ElementsAre("w"));
  EXPECT_EQ(line_of(result, "a", "cpu").to_free, 3000);
  EXPECT_EQ(line_of(result, "a", "cpu").not_freed, 2000);
  EXPECT_THAT(why_moved(line_of(result, "a", "cpu")), HasSubstr("can't free 2"));
}

TEST(queue_victims, those_who_would_have_come_later_are_not_spoken_of) {
  const auto result = two_cpus()
                        .running("a", "low", cpu(2), prio(1))
                        .running("a", "gpu-only", gpu(1), prio(2))
                        .running("a", "high", cpu(1), prio(3))
                        .run();

  EXPECT_THAT(victims_in(result, "a"), ElementsAre("low"));
  EXPECT_THAT(outcome_of(result, "a").passed_over, IsEmpty());
}

TEST(queue_victims, a_workload_that_was_preempted_often_enough_stays) {
  auto built = two_cpus()
                 .running("a", "often", cpu(1), prio(-5))
                 .running("a", "once", cpu(1), prio(1))
                 .running("a", "never", cpu(1), prio(2))
                 .recent_preemptions("often", 2)
                 .recent_preemptions("once", 1);

  const auto without = built.run();
  const auto with = built.preemptions_per_workload_per_hour(2).run();

  EXPECT_THAT(victims_in(without, "a"), ElementsAre("often"));
  EXPECT_THAT(victims_in(with, "a"), ElementsAre("once"));
  EXPECT_EQ(why_passed_over(with, "often"),
            "its workload was preempted 2 times in the last hour, of 2 allowed");
}

TEST(queue_victims, where_no_preemption_is_allowed_in_an_hour_nobody_goes) {
  const auto result =
    two_cpus().pods("a", "calm", 3, cpu(1), prio(1)).preemptions_per_workload_per_hour(0).run();

  EXPECT_THAT(victims_in(result, "a"), IsEmpty());
  EXPECT_EQ(why_passed_over(result, "calm"),
            "its workload was preempted 0 times in the last hour, of 0 allowed");
}

TEST(queue_victims, no_more_go_in_a_run_than_a_decision_may_have) {
  const auto result = two_cpus()
                        .running("a", "w1", cpu(1), prio(1))
                        .running("a", "w2", cpu(1), prio(2))
                        .running("a", "w3", cpu(1), prio(3))
                        .pods("a", "x", 2, cpu(1), prio(9))
                        .victims_per_decision(2)
                        .run();

  EXPECT_THAT(victims_in(result, "a"), ElementsAre("w1", "w2"));
  EXPECT_EQ(line_of(result, "a", "cpu").to_free, 3000);
  EXPECT_EQ(line_of(result, "a", "cpu").not_freed, 1000);
  EXPECT_EQ(why_passed_over(result, "w3"), "a decision may have 2 victims, and has as many");
}

TEST(queue_victims, the_most_that_a_decision_may_have_is_counted_by_resource_group) {
  auto in = two_cpus()
              .running("a", "w1", cpu(1), prio(1))
              .running("a", "w2", cpu(1), prio(2))
              .running("a", "there", cpu(1), prio(3))
              .running("a", "x", cpu(1), prio(9))
              .victims_per_decision(1)
              .input();
  in.pods[2].resource_group = "elsewhere";

  EXPECT_THAT(victims_in(run_queue_stage(in), "a"), ElementsAre("w1", "there"));
}

TEST(queue_victims, who_holds_nothing_of_what_is_overused_is_told_so_even_when_no_more_may_go) {
  const auto result = two_cpus()
                        .pods("a", "w", 4, cpu(1), prio(1))
                        .running("a", "gpu-only", gpu(1), prio(2))
                        .victims_per_decision(1)
                        .run();

  EXPECT_EQ(why_passed_over(result, "gpu-only"), "holds no cpu");
}

} // namespace reprieve::tests
