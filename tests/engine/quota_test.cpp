#include "preemption/quota.hpp"

#include <gtest/gtest.h>

namespace reprieve {

namespace {

resources gpu(std::int64_t amount) {
  return {{"gpu", amount}};
}

quota_need need(std::int64_t used, std::int64_t blocked = 0) {
  return {{gpu(used), {}}, gpu(blocked), gpu(blocked)};
}

queue capped(std::string name, std::int64_t weight, resources limit = {}) {
  queue q;
  q.name = std::move(name);
  q.weight = weight;
  q.limit = std::move(limit);
  q.cap_by_demand = true;
  return q;
}

TEST(quota, a_group_alone_is_granted_all_that_its_queue_is_allocated) {
  const auto shared = share_out(gpu(16), {{"a", need(3)}}, {});

  EXPECT_EQ(shared.granted.at("a"), gpu(16));
  EXPECT_TRUE(shared.lower.empty());
}

TEST(quota, groups_are_granted_what_they_use_then_what_waits_then_the_rest_evenly) {
  const auto shared = share_out(gpu(16), {{"a", need(3)}, {"b", need(1, 6)}}, {});

  EXPECT_EQ(shared.granted.at("a"), gpu(3 + 3));
  EXPECT_EQ(shared.granted.at("b"), gpu(1 + 6 + 3));
}

TEST(quota, what_waits_is_granted_group_by_group_as_half_of_it_helps_nobody) {
  const auto shared = share_out(gpu(8), {{"a", need(0, 8)}, {"b", need(0, 8)}}, {});

  EXPECT_EQ(shared.granted.at("a"), gpu(8));
  EXPECT_EQ(shared.granted.at("b"), gpu(0));
}

TEST(quota, a_group_keeps_its_grant_until_it_agrees_to_less) {
  const auto shared =
    share_out(gpu(8), {{"a", need(2)}, {"b", need(0, 4)}}, {{"a", gpu(8)}, {"b", gpu(0)}});

  EXPECT_EQ(shared.granted.at("a"), gpu(8));
  EXPECT_EQ(shared.granted.at("b"), gpu(0));
  EXPECT_EQ(shared.lower.at("a"), gpu(3)) << "what it uses and half of what nobody waits for";
  EXPECT_FALSE(shared.lower.contains("b"));
}

TEST(quota, nobody_is_asked_for_less_while_nobody_lacks_any) {
  const auto shared =
    share_out(gpu(8), {{"a", need(2)}, {"b", need(0)}}, {{"a", gpu(8)}, {"b", gpu(0)}});

  EXPECT_TRUE(shared.lower.empty());
}

TEST(quota, a_queue_that_lost_some_of_its_allocation_asks_for_it_back) {
  const auto shared =
    share_out(gpu(4), {{"a", need(6)}, {"b", need(0)}}, {{"a", gpu(6)}, {"b", gpu(2)}});

  EXPECT_EQ(shared.lower.at("b"), gpu(0));
  EXPECT_FALSE(shared.lower.contains("a")) << "it uses what it has: pods have to go first";
}

TEST(quota, what_is_lent_goes_to_queues_that_are_capped_by_demand_and_not_limited) {
  const by_name<queue> queues{{"capped", capped("capped", 3)},
                              {"limited", capped("limited", 1, gpu(9))},
                              {"other", capped("other", 1)},
                              {"plain", {}}};
  queue_stage_input in;
  in.queues = queues;
  in.queues.erase("plain"); // it would take all that the others do not ask for
  in.capacity = gpu(8);
  auto result = run_queue_stage(in);
  ASSERT_EQ(result.unassigned, gpu(8));

  lend_unassigned(queues, result);

  const auto amounts = spendable(result);
  EXPECT_EQ(amounts.at("capped"), gpu(6));
  EXPECT_EQ(amounts.at("limited"), gpu(0));
  EXPECT_EQ(amounts.at("other"), gpu(2));
  EXPECT_EQ(result.unassigned, gpu(0));
}

TEST(quota, what_is_lent_and_not_used_is_taken_back_by_the_next_run) {
  queue_stage_input in;
  in.queues = {{"a", capped("a", 1)}, {"b", capped("b", 1)}};
  in.capacity = gpu(8);
  auto first = run_queue_stage(in);
  lend_unassigned(in.queues, first);
  in.previous = statuses_of(first);
  in.pending = {{"a", gpu(7)}};

  auto second = run_queue_stage(in);

  EXPECT_EQ(spendable(second).at("a"), gpu(7));
  for (const auto& one : second.queues)
    EXPECT_TRUE(one.victims.empty());
}

TEST(quota, says_what_is_granted_taken_and_asked_for) {
  EXPECT_EQ(beyond_grant("team", gpu(8000), gpu(6000), gpu(2000)), "");
  EXPECT_EQ(beyond_grant("team", gpu(8000), gpu(6000), gpu(4000)),
            "queue team may use 8 gpu here, 6 are taken and 4 more are asked for");
  EXPECT_EQ(beyond_grant("team", gpu(8), gpu(9), {{"cpu", 4}}), "")
    << "what it asks for is not shared";
}

} // namespace

} // namespace reprieve
