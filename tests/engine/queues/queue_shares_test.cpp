#include "preemption/problem/apportion.hpp"
#include "tests/support/queue_builder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <limits>

namespace reprieve::tests {

namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::int64_t deserved(const queue_stage_result& result, std::string_view queue) {
  return line_of(result, queue, "cpu").deserved;
}

} // namespace

TEST(apportion, gives_what_is_left_to_the_largest_remainder) {
  EXPECT_THAT(apportion(10, std::array<std::int64_t, 3>{1, 1, 4}), ElementsAre(2, 2, 6));
  EXPECT_THAT(apportion(10, std::array<std::int64_t, 2>{1, 2}), ElementsAre(3, 7));
}

TEST(apportion, breaks_ties_by_order) {
  EXPECT_THAT(apportion(2, std::array<std::int64_t, 3>{1, 1, 1}), ElementsAre(1, 1, 0));
}

TEST(apportion, of_nothing_or_among_nobody_is_nothing) {
  EXPECT_THAT(apportion(0, std::array<std::int64_t, 2>{1, 2}), ElementsAre(0, 0));
  EXPECT_THAT(apportion(-5, std::array<std::int64_t, 2>{1, 2}), ElementsAre(0, 0));
  EXPECT_THAT(apportion(7, std::array<std::int64_t, 2>{0, 0}), ElementsAre(0, 0));
  EXPECT_THAT(apportion(7, {}), IsEmpty());
}

TEST(apportion, is_exact_at_the_end_of_64_bits) {
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  EXPECT_THAT(apportion(most, std::array<std::int64_t, 2>{most, most}),
              ElementsAre(most / 2 + 1, most / 2));
}

TEST(queue_shares, are_by_weight) {
  const auto result = queues(cpu(9)).queue("a", weight{2}).queue("b", weight{4}).queue("c").run();

  EXPECT_EQ(deserved(result, "a"), 2571);
  EXPECT_EQ(deserved(result, "b"), 5143);
  EXPECT_EQ(deserved(result, "c"), 1286);
}

TEST(queue_shares, the_largest_remainder_gets_the_odd_one_and_then_the_first_by_name) {
  const auto thirds = queues(cpu(1)).queue("a").queue("b").queue("c").run();
  const auto uneven = queues(cpu(1)).queue("a").queue("b", weight{5}).run();

  EXPECT_EQ(deserved(thirds, "a"), 334);
  EXPECT_EQ(deserved(thirds, "b"), 333);
  EXPECT_EQ(deserved(thirds, "c"), 333);
  EXPECT_EQ(deserved(uneven, "a"), 167);
  EXPECT_EQ(deserved(uneven, "b"), 833);
}

TEST(queue_shares, what_a_limited_queue_leaves_goes_to_the_others_by_weight) {
  const auto result = queues(cpu(10))
                        .queue("a", weight{5}, limited{cpu(1)})
                        .queue("b", weight{1})
                        .queue("c", weight{2})
                        .run();

  EXPECT_EQ(deserved(result, "a"), 1000);
  EXPECT_EQ(deserved(result, "b"), 3000);
  EXPECT_EQ(deserved(result, "c"), 6000);
}

TEST(queue_shares, one_limit_may_make_room_to_reach_the_next) {
  const auto result =
    queues(cpu(12)).queue("a", limited{cpu(1)}).queue("b", limited{cpu(5)}).queue("c").run();

  EXPECT_EQ(deserved(result, "a"), 1000);
  EXPECT_EQ(deserved(result, "b"), 5000);
  EXPECT_EQ(deserved(result, "c"), 6000);
}

TEST(queue_shares, no_queue_gets_less_than_it_is_guaranteed) {
  const auto result = queues(cpu(10))
                        .queue("a", weight{1}, guaranteed{cpu(4)})
                        .queue("b", weight{1})
                        .queue("c", weight{8})
                        .run();

  EXPECT_EQ(deserved(result, "a"), 4000);
  EXPECT_EQ(deserved(result, "b"), 667);
  EXPECT_EQ(deserved(result, "c"), 5333);
}

TEST(queue_shares, a_guarantee_below_the_share_by_weight_adds_nothing_to_it) {
  const auto result = queues(cpu(10)).queue("a", guaranteed{cpu(4)}).queue("b").run();

  EXPECT_EQ(deserved(result, "a"), 5000);
  EXPECT_EQ(deserved(result, "b"), 5000);
}

TEST(queue_shares, guarantees_that_exceed_the_capacity_are_cut_in_proportion_and_that_is_said) {
  const auto result = queues(cpu(6))
                        .queue("a", guaranteed{cpu(8)}, weight{1})
                        .queue("b", guaranteed{cpu(4)}, weight{100})
                        .queue("c")
                        .run();

  EXPECT_EQ(deserved(result, "a"), 4000);
  EXPECT_EQ(deserved(result, "b"), 2000);
  EXPECT_EQ(deserved(result, "c"), 0);
  EXPECT_THAT(result.cuts, ElementsAre(guarantee_cut{"", "cpu", 12000, 6000}));
}

TEST(queue_shares, a_limit_holds_for_what_is_guaranteed_as_well) {
  const auto result =
    queues(cpu(10)).queue("a", guaranteed{cpu(8)}, limited{cpu(3)}).queue("b").run();

  EXPECT_EQ(deserved(result, "a"), 3000);
  EXPECT_EQ(deserved(result, "b"), 7000);
}

TEST(queue_shares, zero_weight_gets_only_what_is_guaranteed) {
  const auto result = queues(cpu(10))
                        .queue("a", weight{0}, guaranteed{cpu(2)})
                        .queue("b", weight{0})
                        .queue("c", limited{cpu(5)})
                        .run();

  EXPECT_EQ(deserved(result, "a"), 2000);
  EXPECT_EQ(deserved(result, "b"), 0);
  EXPECT_EQ(deserved(result, "c"), 5000);
  EXPECT_EQ(amount_of(result.unassigned, "cpu"), 3000);
}

TEST(queue_shares, demand_is_what_is_used_and_what_is_pending_and_caps_only_where_it_is_set) {
  const auto result = queues(cpu(12))
                        .queue("a", capped_by_demand())
                        .queue("b")
                        .queue("c", capped_by_demand())
                        .running("a", "w", cpu(1))
                        .pending("a", cpu(2))
                        .run();

  EXPECT_EQ(deserved(result, "a"), 3000);
  EXPECT_EQ(deserved(result, "b"), 9000);
  EXPECT_EQ(deserved(result, "c"), 0);
}

TEST(queue_shares, what_is_guaranteed_is_kept_without_demand) {
  const auto result = queues(cpu(12))
                        .queue("a", capped_by_demand(), guaranteed{cpu(5)})
                        .queue("b", weight{100})
                        .run();

  EXPECT_EQ(deserved(result, "a"), 5000);
  EXPECT_EQ(deserved(result, "b"), 7000);
}

TEST(queue_shares, children_divide_what_their_parent_deserves) {
  const auto result = queues(cpu(12))
                        .queue("top", weight{2})
                        .queue("x", below{"top"}, weight{3})
                        .queue("y", below{"top"})
                        .queue("other")
                        .run();

  EXPECT_EQ(deserved(result, "top"), 8000);
  EXPECT_EQ(deserved(result, "x"), 6000);
  EXPECT_EQ(deserved(result, "y"), 2000);
  EXPECT_EQ(deserved(result, "other"), 4000);
}

TEST(queue_shares, are_divided_on_every_level_below) {
  const auto result = queues(cpu(12))
                        .queue("top", weight{3})
                        .queue("other")
                        .queue("middle", below{"top"}, weight{2})
                        .queue("side", below{"top"})
                        .queue("x", below{"middle"}, limited{cpu(1)})
                        .queue("y", below{"middle"})
                        .run();

  EXPECT_EQ(deserved(result, "top"), 9000);
  EXPECT_EQ(deserved(result, "middle"), 6000);
  EXPECT_EQ(deserved(result, "side"), 3000);
  EXPECT_EQ(deserved(result, "x"), 1000);
  EXPECT_EQ(deserved(result, "y"), 5000);
}

TEST(queue_shares, a_parent_is_guaranteed_what_its_children_are) {
  const auto result = queues(cpu(10))
                        .queue("top", weight{1})
                        .queue("x", below{"top"}, guaranteed{cpu(4)})
                        .queue("y", below{"top"}, guaranteed{cpu(2)})
                        .queue("other", weight{9})
                        .run();

  EXPECT_EQ(deserved(result, "top"), 6000);
  EXPECT_EQ(deserved(result, "x"), 4000);
  EXPECT_EQ(deserved(result, "y"), 2000);
  EXPECT_THAT(result.cuts, IsEmpty());
}

TEST(queue_shares, a_parent_takes_no_more_than_its_children_can) {
  const auto result = queues(cpu(10))
                        .queue("top")
                        .queue("x", below{"top"}, limited{cpu(1)})
                        .queue("y", below{"top"}, capped_by_demand())
                        .queue("other")
                        .pending("y", cpu(2))
                        .run();

  EXPECT_EQ(deserved(result, "top"), 3000);
  EXPECT_EQ(deserved(result, "other"), 7000);
}

TEST(queue_shares, a_parent_whose_children_have_no_weight_takes_only_what_they_are_guaranteed) {
  const auto result = queues(cpu(10))
                        .queue("top")
                        .queue("x", below{"top"}, weight{0}, guaranteed{cpu(1)})
                        .queue("y", below{"top"}, weight{0})
                        .queue("other")
                        .run();

  EXPECT_EQ(deserved(result, "top"), 1000);
  EXPECT_EQ(deserved(result, "x"), 1000);
  EXPECT_EQ(deserved(result, "other"), 9000);
}

TEST(queue_shares, the_demand_of_a_parent_is_that_of_its_children) {
  const auto result = queues(cpu(10))
                        .queue("top", capped_by_demand())
                        .queue("x", below{"top"}, weight{3})
                        .queue("y", below{"top"})
                        .queue("other")
                        .pending("x", cpu(1))
                        .pending("y", cpu(3))
                        .run();

  EXPECT_EQ(deserved(result, "top"), 4000);
  EXPECT_EQ(deserved(result, "x"), 1000);
  EXPECT_EQ(deserved(result, "y"), 3000);
}

TEST(queue_shares, below_a_queue_that_is_capped_by_its_demand_nothing_is_kept_for_who_is_idle) {
  const auto result = queues(cpu(10))
                        .queue("top", capped_by_demand())
                        .queue("middle", below{"top"})
                        .queue("busy", below{"middle"}, weight{3}, capped_by_demand())
                        .queue("idle", below{"middle"})
                        .queue("other")
                        .pods("busy", "w", 4, cpu(1))
                        .run();

  EXPECT_EQ(deserved(result, "busy"), 4000);
  EXPECT_EQ(deserved(result, "idle"), 0);
  EXPECT_EQ(line_of(result, "busy", "cpu").to_free, 0);
}

TEST(queue_shares, guarantees_under_a_parent_whose_own_was_cut_are_cut_as_well) {
  const auto result = queues(cpu(4))
                        .queue("top")
                        .queue("x", below{"top"}, guaranteed{cpu(6)})
                        .queue("y", below{"top"}, guaranteed{cpu(2)})
                        .run();

  EXPECT_EQ(deserved(result, "x"), 3000);
  EXPECT_EQ(deserved(result, "y"), 1000);
  EXPECT_THAT(result.cuts, ElementsAre(guarantee_cut{"", "cpu", 8000, 4000},
                                       guarantee_cut{"top", "cpu", 8000, 4000}));
}

TEST(queue_shares, own_pods_of_a_parent_share_with_its_children_up_to_what_they_need) {
  const auto result = queues(cpu(12))
                        .queue("top")
                        .queue("x", below{"top"}, weight{2})
                        .running("top", "small", cpu(1))
                        .run();
  const auto crowded = queues(cpu(12))
                         .queue("top")
                         .queue("x", below{"top"}, weight{2})
                         .pods("top", "large", 12, cpu(1))
                         .run();

  ASSERT_THAT(result.queues, SizeIs(3));
  EXPECT_TRUE(result.queues[1].own_pods);
  EXPECT_EQ(result.queues[1].queue, "top");
  EXPECT_EQ(result.queues[1].lines[0].deserved, 1000);
  EXPECT_EQ(deserved(result, "x"), 11000);
  EXPECT_EQ(crowded.queues[1].lines[0].deserved, 4000);
  EXPECT_EQ(deserved(crowded, "x"), 8000);
}

TEST(queue_shares, each_resource_is_shared_by_itself) {
  const auto result =
    queues(cpu(10), gpu(4)).queue("a", limited{gpu(1)}).queue("b", limited{cpu(2)}).run();

  EXPECT_EQ(deserved(result, "a"), 8000);
  EXPECT_EQ(deserved(result, "b"), 2000);
  EXPECT_EQ(line_of(result, "a", "gpu").deserved, 1000);
  EXPECT_EQ(line_of(result, "b", "gpu").deserved, 3000);
}

TEST(queue_shares, a_queue_whose_parent_is_not_there_stands_at_the_top) {
  const auto result = queues(cpu(4)).queue("a", below{"gone"}).queue("b").run();

  EXPECT_EQ(deserved(result, "a"), 2000);
}

TEST(queue_shares, a_cycle_of_parents_is_cut) {
  const auto result = queues(cpu(4)).queue("a", below{"b"}).queue("b", below{"a"}).queue("c").run();

  EXPECT_EQ(deserved(result, "a"), 2000);
  EXPECT_EQ(deserved(result, "b"), 2000);
  EXPECT_EQ(deserved(result, "c"), 2000);
}

TEST(queue_shares, amounts_at_the_end_of_64_bits_do_not_overflow) {
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  const amount everything{"cpu", most};
  const auto result = queues(everything)
                        .queue("a", weight{most}, guaranteed{everything})
                        .queue("b", guaranteed{everything})
                        .queue("c", weight{most})
                        .allocated("a", everything)
                        .allocated("b", everything)
                        .preempting("c", everything)
                        .pending("a", everything)
                        .run();

  EXPECT_EQ(deserved(result, "a"), most / 2 + 1);
  EXPECT_EQ(deserved(result, "b"), most / 2);
  EXPECT_EQ(deserved(result, "c"), 0);
  EXPECT_EQ(line_of(result, "a", "cpu").allocated, most / 2 + 1);
  EXPECT_EQ(line_of(result, "b", "cpu").allocated, most / 2);
}

} // namespace reprieve::tests
