#include "tests/trace/plain_policies.hpp"

#include <gtest/gtest.h>

namespace reprieve::trace {

namespace {

using std::chrono::seconds;

/// Machines of so many GPUs each.
replay_plan plan_on(const std::vector<std::int64_t>& gpus,
                    std::vector<std::int64_t> weights = {1}) {
  replay_plan plan;
  for (const auto n : gpus)
    plan.machines.push_back({"n" + std::to_string(plan.machines.size()), {0, 0, n}});
  plan.weights = std::move(weights);
  plan.length = seconds{100};
  return plan;
}

void comes(replay_plan& plan, milliseconds at, std::int64_t gpus, std::int32_t priority,
           std::size_t queue = 0, seconds runs_for = seconds{1000}) {
  plan.arrivals.push_back(
    {"p" + std::to_string(plan.arrivals.size()), {0, 0, gpus}, priority, queue, at, runs_for});
}

TEST(first_fit_simulation, preempts_nobody_where_there_is_room) {
  auto plan = plan_on({2});
  comes(plan, seconds{0}, 1, 0);
  comes(plan, seconds{1}, 1, 100);

  const auto told = simulate_first_fit(plan);

  EXPECT_EQ(told.preemptions, 0);
  EXPECT_EQ(told.starts, 2);
}

TEST(first_fit_simulation, takes_the_node_with_the_lowest_highest_priority_and_the_fewest_pods) {
  auto plan = plan_on({2, 2, 2});
  comes(plan, seconds{0}, 2, 50);
  comes(plan, seconds{0}, 1, 10);
  comes(plan, seconds{0}, 1, 10);
  comes(plan, seconds{0}, 2, 10);
  comes(plan, seconds{10}, 2, 100);

  const auto told = simulate_first_fit(plan);

  EXPECT_EQ(told.preemptions, 1);
  // It had run from 0.2 s, and comes back at 11.5 s without finding any room.
  EXPECT_DOUBLE_EQ(told.gpu_seconds_lost, 2 * 9.8);
  EXPECT_EQ(told.starts, 5);
}

TEST(first_fit_simulation, puts_back_whom_it_does_not_need) {
  auto plan = plan_on({4});
  for (int i = 0; i < 4; ++i)
    comes(plan, seconds{i}, 1, 10);
  comes(plan, seconds{10}, 2, 100);

  const auto told = simulate_first_fit(plan);

  EXPECT_EQ(told.preemptions, 2);
  EXPECT_DOUBLE_EQ(told.gpu_seconds_lost, 7.8 + 6.8) << "the two that started last";
}

TEST(first_fit_simulation, preempts_once_for_one_preemptor_and_keeps_its_room) {
  auto plan = plan_on({1});
  comes(plan, seconds{0}, 1, 10);
  comes(plan, seconds{10}, 1, 100);
  comes(plan, milliseconds{10'200}, 1, 50);

  const auto told = simulate_first_fit(plan);

  EXPECT_EQ(told.preemptions, 1);
  EXPECT_EQ(told.starts, 2);
}

TEST(first_fit_simulation, lets_the_preempted_come_back_when_there_is_room) {
  auto plan = plan_on({1});
  comes(plan, seconds{0}, 1, 10, 0, seconds{20});
  comes(plan, seconds{10}, 1, 100, 0, seconds{5});

  const auto told = simulate_first_fit(plan);

  EXPECT_EQ(told.preemptions, 1);
  EXPECT_EQ(told.starts, 3);
  EXPECT_DOUBLE_EQ(told.gpu_seconds_used, 9.8 + 5 + 20);
}

TEST(shares, go_by_weight_as_far_as_they_are_asked_for) {
  EXPECT_EQ(shares_of(12, {3, 2, 1}, {100, 100, 100}), (std::vector<std::int64_t>{6, 4, 2}));
  EXPECT_EQ(shares_of(12, {3, 2, 1}, {1, 100, 100}), (std::vector<std::int64_t>{1, 8, 3}));
  EXPECT_EQ(shares_of(12, {1, 1}, {2, 3}), (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(shares_of(10, {1, 1, 1}, {9, 9, 9}), (std::vector<std::int64_t>{4, 3, 3}));
}

TEST(share_simulation, takes_what_is_above_a_share_back_and_no_more) {
  auto plan = plan_on({4}, {1, 1});
  for (int i = 0; i < 6; ++i)
    comes(plan, seconds{0}, 1, 0, 0);
  for (int i = 0; i < 6; ++i)
    comes(plan, seconds{10}, 1, 0, 1);

  const auto told = simulate_shares(plan);

  EXPECT_EQ(told.preemptions, 2);
  EXPECT_EQ(told.starts, 6);
}

TEST(share_simulation, lends_what_the_other_queue_does_not_ask_for) {
  auto plan = plan_on({4}, {3, 1});
  for (int i = 0; i < 4; ++i)
    comes(plan, seconds{0}, 1, 0, 1);

  const auto told = simulate_shares(plan);

  EXPECT_EQ(told.starts, 4);
  EXPECT_EQ(told.preemptions, 0);
}

TEST(share_simulation, exchanges_less_important_work_of_the_same_queue_beyond_its_share) {
  auto plan = plan_on({4}, {1, 1});
  for (const std::size_t queue : {0, 1})
    for (int i = 0; i < 2; ++i)
      comes(plan, seconds{0}, 1, 10, queue);
  comes(plan, seconds{10}, 1, 100, 0);

  const auto told = simulate_shares(plan);

  EXPECT_EQ(told.preemptions, 1);
  EXPECT_EQ(told.starts, 5);
}

} // namespace

} // namespace reprieve::trace
