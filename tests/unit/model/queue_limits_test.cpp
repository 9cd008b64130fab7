#include "state/model/queue_limits.hpp"
#include "state/records/keys.hpp"

#include <gtest/gtest.h>

#include <set>

namespace reprieve {

namespace {

by_name<queue> tree() {
  by_name<queue> queues;
  queues["company"] = {"company", "", 1, {}, {{"gpu", 10'000}}, false};
  queues["team"] = {"team", "company", 1, {}, {{"gpu", 8'000}}, false};
  queues["other"] = {"other", "company", 1, {}, {}, false};
  return queues;
}

TEST(queue_limits, a_queue_stays_within_its_own_limit) {
  const usage_by_queue usage{{"team", {{"gpu", 6'000}}}};
  EXPECT_TRUE(within_limits(tree(), usage, "team", {{"gpu", 2'000}}).ok());
  const auto refused = within_limits(tree(), usage, "team", {{"gpu", 3'000}});
  EXPECT_TRUE(absl::IsResourceExhausted(refused));
  EXPECT_NE(std::string(refused.message()).find("queue team has a limit of 8 gpu"),
            std::string::npos)
    << refused;
}

TEST(queue_limits, a_parent_counts_all_its_children) {
  const usage_by_queue usage{{"team", {{"gpu", 6'000}}}, {"other", {{"gpu", 3'000}}}};
  EXPECT_EQ(amount_of(used_below(tree(), usage, "company"), "gpu"), 9'000);
  EXPECT_TRUE(within_limits(tree(), usage, "other", {{"gpu", 1'000}}).ok());
  EXPECT_FALSE(within_limits(tree(), usage, "other", {{"gpu", 2'000}}).ok());
}

TEST(queue_limits, what_is_not_named_is_not_limited) {
  EXPECT_TRUE(within_limits(tree(), {}, "team", {{"cpu", 1'000'000}}).ok());
}

TEST(queue_limits, a_queue_that_is_gone_lets_nobody_in) {
  EXPECT_FALSE(within_limits(tree(), {}, "gone", {{"cpu", 1}}).ok());
}

TEST(keys, names_never_move_between_shards) {
  EXPECT_EQ(shard_number("node-1", 4), shard_number("node-1", 4));
  std::set<std::uint32_t> used;
  for (int i = 0; i < 100; ++i)
    used.insert(shard_number("node-" + std::to_string(i), 8));
  EXPECT_EQ(used.size(), 8U);
  // Written down once: a change would lose every record in every store.
  EXPECT_EQ(shard_number("node-1", 1024), 451U);
}

TEST(keys, finished_decisions_stand_in_the_order_of_time) {
  const time_point early{std::chrono::hours{9}};
  EXPECT_LT(keys::done_decision(early, "b"),
            keys::done_decision(early + std::chrono::hours{991}, "a"));
  EXPECT_EQ(keys::decision_of_body(keys::decision_body("d7", 3)), "d7");
  EXPECT_EQ(keys::last_part("n/default.3/a1"), "a1");
}

} // namespace

} // namespace reprieve
