#include "preemption/cycle/quota.hpp"

#include <gtest/gtest.h>

namespace reprieve {

namespace {

resources gpu(std::int64_t amount) {
  return {{"gpu", amount * 1000}};
}

quota_need need(std::int64_t used, std::int64_t blocked = 0) {
  return {{gpu(used), {}}, gpu(blocked), gpu(blocked), {}};
}

queue limited(std::string name, std::string parent, resources limit) {
  queue q;
  q.name = std::move(name);
  q.parent = std::move(parent);
  q.limit = std::move(limit);
  return q;
}

TEST(quota, a_group_alone_is_granted_all_of_a_limit) {
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

quota_need wishing(std::int64_t used, std::vector<quota_wish> wishes) {
  quota_need made{{gpu(used), {}}, {}, {}, std::move(wishes)};
  for (const auto& one : made.wishes)
    made.blocked["gpu"] += one.count * one.each.at("gpu");
  return made;
}

TEST(quota, what_waits_and_would_not_have_enough_keeps_nothing_from_others) {
  const auto shared = share_out(gpu(7),
                                {{"a", wishing(3, {{5, no_time, gpu(3), 1}})},
                                 {"b", wishing(2, {{20, no_time, gpu(1), 1}})},
                                 {"c", wishing(0, {{50, no_time, gpu(1), 1}})}},
                                {{"a", gpu(5)}, {"b", gpu(2)}, {"c", gpu(0)}});

  EXPECT_EQ(shared.lower.at("a"), gpu(3));
  EXPECT_EQ(shared.lower.size(), 1U);
}

TEST(quota, what_waits_and_would_not_have_enough_has_what_others_leave) {
  const auto shared =
    share_out(gpu(8), {{"a", wishing(4, {{9, no_time, gpu(6), 1}})}, {"b", wishing(0, {})}}, {});

  EXPECT_EQ(shared.granted.at("a"), gpu(8)) << "less important work there may go for it";
}

TEST(quota, what_waits_has_its_part_the_most_important_first_then_who_waits_longest) {
  const auto since = [](int seconds) { return time_point{std::chrono::seconds{seconds}}; };
  const auto shared = share_out(gpu(6),
                                {{"a", wishing(0, {{5, since(1), gpu(2), 2}})},
                                 {"b", wishing(0, {{5, since(0), gpu(1), 1}})},
                                 {"c", wishing(0, {{9, since(7), gpu(1), 2}})}},
                                {});

  EXPECT_EQ(shared.granted.at("c"), gpu(2));
  EXPECT_EQ(shared.granted.at("b"), gpu(1));
  EXPECT_EQ(shared.granted.at("a"), gpu(2 + 1)) << "one of the two, and the rest";
}

TEST(quota, what_waits_is_granted_where_there_is_enough_of_all_that_is_limited) {
  auto limit = gpu(4);
  limit["cpu"] = 1000;
  auto large = gpu(2);
  large["cpu"] = 2000;
  const auto shared = share_out(limit,
                                {{"a", {{}, {}, large, {{9, no_time, large, 1}}}},
                                 {"b", wishing(0, {{1, no_time, gpu(4), 1}})}},
                                {});

  EXPECT_EQ(amount_of(shared.granted.at("b"), "gpu"), 4000);
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

TEST(quota, groups_that_use_more_than_a_lower_limit_come_down_in_proportion) {
  const auto shared =
    share_out(gpu(3), {{"a", need(4)}, {"b", need(2)}}, {{"a", gpu(4)}, {"b", gpu(2)}});

  EXPECT_EQ(shared.lower.at("a"), gpu(2));
  EXPECT_EQ(shared.lower.at("b"), gpu(1));
  EXPECT_EQ(shared.granted.at("a"), gpu(4)) << "until its pods have gone";
}

TEST(quota, of_a_limit_a_group_sees_what_others_leave_of_it) {
  const by_name<queue> queues{{"all", limited("all", "", gpu(9))},
                              {"team", limited("team", "all", gpu(6))}};

  const auto part = part_of_group(queues, {{"team", gpu(2)}});

  EXPECT_EQ(part.at("team").limit, gpu(4));
  EXPECT_EQ(part.at("all").limit, gpu(7));
}

TEST(quota, of_a_limit_a_group_sees_what_it_was_granted) {
  const by_name<queue> queues{{"all", limited("all", "", gpu(9))},
                              {"team", limited("team", "all", gpu(6))}};
  const by_name<queue_totals> used{{"team", {gpu(2), {}}}};
  const by_name<resources> granted{{"all", gpu(5)}};

  const auto part = part_by_grants(queues, &granted, used);

  EXPECT_EQ(part.at("all").limit, gpu(5));
  EXPECT_EQ(part.at("team").limit, gpu(2)) << "nothing is known of it: what runs stays";
  EXPECT_EQ(part_by_grants(queues, nullptr, used).at("all").limit, gpu(2));
}

} // namespace

} // namespace reprieve
