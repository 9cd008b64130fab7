#include "tests/disturbance/least_evictions.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace reprieve::disturbance {

namespace {

using numbers = std::vector<std::int64_t>;

still_cluster cluster_of(std::size_t nodes, std::int64_t gpus, std::vector<share_queue> queues) {
  still_cluster made;
  made.capacity.assign(nodes, gpus);
  made.free = made.capacity;
  made.shared = static_cast<std::int64_t>(nodes) * gpus;
  made.queues = std::move(queues);
  return made;
}

void runs(still_cluster& cluster, unit what, std::map<node_number, std::int64_t> on) {
  what.pods = 0;
  for (const auto& [n, pods] : on) {
    what.pods += pods;
    cluster.free[n] -= pods * what.gpus;
  }
  cluster.running.push_back({std::move(what), std::move(on)});
}

std::int64_t cost_of(still_cluster cluster, const unit& who) {
  cluster.waiting.push_back(who);
  const auto found = room_for(cluster, who);
  return found ? found->cost.pods : -1;
}

TEST(deserved, goes_by_weight_in_whole_gpus_within_demand_and_limit) {
  EXPECT_EQ(deserved(10, {{1, {}}, {1, {}}, {1, {}}}, {9, 9, 9}), (numbers{4, 3, 3}));
  EXPECT_EQ(deserved(64, {{5, {}}, {1, 4}}, {192, 2}), (numbers{62, 2}));
  EXPECT_EQ(deserved(64, {{5, {}}, {1, 4}}, {192, 50}), (numbers{60, 4}));
  EXPECT_EQ(deserved(12, {{3, {}}, {2, {}}, {1, {}}}, {1, 100, 100}), (numbers{1, 7, 4}));
  EXPECT_EQ(deserved(12, {{1, {}}, {1, {}}}, {2, 3}), (numbers{2, 3}));
}

TEST(given_back, follows_the_order_of_queues_and_leaves_who_is_not_needed) {
  auto cluster = cluster_of(1, 32, {{1, {}}});
  runs(cluster, {"a", 0, 0, 1, 1}, {{0, 1}});
  runs(cluster, {"b", 0, 0, 1, 1}, {{0, 1}});
  runs(cluster, {"c", 0, 0, 1, 4}, {{0, 1}});
  runs(cluster, {"d", 0, 9, 1, 8}, {{0, 1}});
  cluster.running[1].since = 5;
  const std::vector<std::size_t> all{0, 1, 2, 3};
  using set = std::vector<std::size_t>;
  EXPECT_EQ(given_back(cluster.running, all, 0), (set{}));
  EXPECT_EQ(given_back(cluster.running, all, 1), (set{1})) << "it started last";
  EXPECT_EQ(given_back(cluster.running, all, 2), (set{1, 0}));
  EXPECT_EQ(given_back(cluster.running, all, 3), (set{2})) << "it is needed, and is enough";
  EXPECT_EQ(given_back(cluster.running, all, 7), (set{3}));
  EXPECT_EQ(given_back(cluster.running, all, 10), (set{1, 0, 3}));
  EXPECT_EQ(given_back(cluster.running, all, 15).size(), 4U) << "all of them are not enough";
}

TEST(room_for, costs_nothing_where_there_is_free_room) {
  auto cluster = cluster_of(2, 8, {{1, {}}});
  runs(cluster, {"a", 0, 0, 1, 8}, {{0, 1}});
  EXPECT_EQ(cost_of(cluster, {"w", 0, 0, 4, 2}), 0);
  EXPECT_EQ(cost_of(cluster, {"w", 0, 0, 5, 2}), -1) << "nobody is less important";
}

TEST(room_for, counts_all_pods_of_a_gang_wherever_they_run) {
  auto cluster = cluster_of(3, 8, {{1, {}}});
  runs(cluster, {"wide", 0, 0, 3, 4}, {{0, 1}, {1, 1}, {2, 1}});
  runs(cluster, {"a", 0, 0, 1, 4}, {{0, 1}});
  runs(cluster, {"b", 0, 0, 1, 4}, {{1, 1}});
  runs(cluster, {"c", 0, 0, 1, 4}, {{2, 1}});
  EXPECT_EQ(cost_of(cluster, {"w", 0, 9, 1, 4}), 1);
  EXPECT_EQ(cost_of(cluster, {"w", 0, 9, 1, 8}), 4);
  EXPECT_EQ(cost_of(cluster, {"w", 0, 9, 3, 4}), 3) << "the gang, or the three beside it";
}

TEST(room_for, prefers_lower_priorities_to_fewer_pods) {
  auto cluster = cluster_of(2, 2, {{1, {}}});
  runs(cluster, {"a", 0, 0, 1, 1}, {{0, 1}});
  runs(cluster, {"b", 0, 0, 1, 1}, {{0, 1}});
  runs(cluster, {"c", 0, 5, 1, 2}, {{1, 1}});
  EXPECT_EQ(cost_of(cluster, {"w", 0, 9, 1, 2}), 2);
}

TEST(room_for, one_pod_of_a_small_queue_costs_one_gang_of_the_big_one) {
  auto cluster = cluster_of(8, 8, {{5, {}}, {1, 4}});
  for (node_number n = 0; n < 8; n += 2)
    runs(cluster, {"gang-" + std::to_string(n), 0, 500, 2, 8}, {{n, 1}, {n + 1, 1}});
  for (int i = 0; i < 8; ++i)
    cluster.waiting.push_back({"waits-" + std::to_string(i), 0, 100, 2, 8});
  EXPECT_EQ(cost_of(cluster, {"s", 1, 0, 1, 2}), 2);
  EXPECT_EQ(cost_of(cluster, {"s", 1, 0, 5, 1}), -1) << "its limit is 4";
  EXPECT_EQ(cost_of(cluster, {"more", 0, 500, 1, 1}), -1) << "the big queue has its share";
}

TEST(room_for, within_a_limit_exchanges_less_important_work_of_the_same_queue) {
  auto cluster = cluster_of(1, 8, {{1, 2}, {1, {}}});
  runs(cluster, {"low-0", 0, 0, 1, 1}, {{0, 1}});
  runs(cluster, {"low-1", 0, 0, 1, 1}, {{0, 1}});
  EXPECT_EQ(cost_of(cluster, {"important", 0, 100, 1, 1}), 1);
  EXPECT_EQ(cost_of(cluster, {"important", 0, 100, 1, 2}), 2);
  EXPECT_EQ(cost_of(cluster, {"equal", 0, 0, 1, 1}), -1);
}

TEST(least_evictions, counts_what_is_beyond_a_limit_once) {
  auto cluster = cluster_of(1, 8, {{1, 3}});
  for (int i = 0; i < 6; ++i)
    runs(cluster, {"w" + std::to_string(i), 0, 0, 1, 1}, {{0, 1}});
  EXPECT_EQ(least_evictions(cluster, {}).pods, 3);
}

TEST(least_evictions, lets_those_who_come_later_use_what_is_left) {
  auto cluster = cluster_of(2, 8, {{1, {}}, {1, {}}});
  runs(cluster, {"gang", 0, 0, 2, 8}, {{0, 1}, {1, 1}});
  const unit first{"first", 1, 0, 1, 4};
  const unit second{"second", 1, 0, 1, 4};
  cluster.waiting = {first, second};
  EXPECT_EQ(least_evictions(cluster, {first, second}).pods, 2);
}

const std::map<node_number, std::int64_t> both{{0, 1}, {1, 1}};

TEST(was_displaced, by_work_of_the_same_queue_that_comes_after_it) {
  auto cluster = cluster_of(2, 8, {{1, {}}, {1, {}}});
  runs(cluster, {"newer", 0, 100, 2, 8, 2}, {{0, 1}, {1, 1}});
  cluster.waiting = {{"stopped", 0, 100, 2, 8, 1}};
  EXPECT_TRUE(was_displaced(cluster, cluster.waiting[0], both, {0}));
  cluster.waiting[0].number = 3;
  EXPECT_FALSE(was_displaced(cluster, cluster.waiting[0], both, {0})) << "it waited before";
  EXPECT_FALSE(was_displaced(cluster, cluster.waiting[0], both, {})) << "it ran before";
  cluster.running[0].what.priority = 500;
  EXPECT_FALSE(was_displaced(cluster, cluster.waiting[0], both, {0})) << "it is more important";
  cluster.running[0].what = {"newer", 1, 100, 2, 8};
  EXPECT_FALSE(was_displaced(cluster, cluster.waiting[0], both, {0})) << "it is of another queue";
}

TEST(was_displaced, not_by_what_runs_elsewhere) {
  auto cluster = cluster_of(2, 8, {{1, {}}});
  runs(cluster, {"important", 0, 500, 1, 8}, {{0, 1}});
  runs(cluster, {"newer", 0, 100, 1, 8}, {{1, 1}});
  cluster.waiting = {{"stopped", 0, 100, 1, 8}};
  EXPECT_FALSE(was_displaced(cluster, cluster.waiting[0], {{0, 1}}, {0, 1}));
  EXPECT_TRUE(was_displaced(cluster, cluster.waiting[0], {{1, 1}}, {0, 1}));
}

TEST(was_displaced, not_by_what_uses_room_that_would_not_do_for_it) {
  auto cluster = cluster_of(2, 8, {{1, {}}, {1, {}}});
  runs(cluster, {"receiver", 1, 0, 1, 2}, {{0, 1}});
  runs(cluster, {"beside-it", 0, 0, 1, 4}, {{0, 1}});
  cluster.waiting = {{"stopped", 0, 100, 2, 8}};
  EXPECT_FALSE(was_displaced(cluster, cluster.waiting[0], both, {1}));
}

/// By trying all sets; -1 where none will do.
std::int64_t by_trying_all(const still_cluster& cluster, const unit& who) {
  const auto& queue = cluster.queues[who.queue];
  numbers used(cluster.queues.size());
  for (const auto& one : cluster.running)
    used[one.what.queue] += one.what.pods * one.what.gpus;
  auto asked = used;
  for (const auto& one : cluster.waiting)
    if (!cluster.queues[one.queue].limit || one.pods * one.gpus <= *cluster.queues[one.queue].limit)
      asked[one.queue] += one.pods * one.gpus;
  const auto share = deserved(cluster.shared, cluster.queues, asked);
  bool crowded = false;
  for (std::size_t q = 0; q < used.size(); ++q)
    crowded = crowded || used[q] > share[q];
  const auto wants = who.pods * who.gpus;
  std::pair<std::int64_t, std::int64_t> best{1'000'000, -1};
  for (std::uint32_t set = 0; set < 1U << cluster.running.size(); ++set) {
    auto free = cluster.free;
    auto left = used;
    numbers important(used.size());
    numbers largest(used.size());
    std::int64_t pods = 0;
    std::int64_t highest = -1;
    bool may = true;
    for (std::size_t i = 0; i < cluster.running.size(); ++i) {
      if ((set >> i & 1U) == 0)
        continue;
      const auto& one = cluster.running[i];
      const auto size = one.what.pods * one.what.gpus;
      for (const auto& [n, count] : one.on)
        free[n] += count * one.what.gpus;
      left[one.what.queue] -= size;
      pods += one.what.pods;
      highest = std::max<std::int64_t>(highest, one.what.priority);
      const auto q = one.what.queue;
      may = may && (!crowded || q == who.queue || used[q] > share[q]);
      if (one.what.priority >= who.priority) {
        may = may && one.what.queue != who.queue;
        important[one.what.queue] += size;
        largest[one.what.queue] = std::max(largest[one.what.queue], size);
      }
    }
    for (std::size_t q = 0; q < used.size(); ++q)
      may = may && (important[q] == 0 || important[q] - largest[q] < used[q] - share[q]);
    const auto with_it = left[who.queue] + wants;
    may = may && (!queue.limit || with_it <= *queue.limit);
    may = may && (set == 0 || with_it <= std::max(share[who.queue], used[who.queue]));
    std::int64_t places = 0;
    for (const auto gpus : free)
      places += gpus / who.gpus;
    if (may && places >= who.pods)
      best = std::min(best, {highest, pods});
  }
  return best.second;
}

TEST(room_for, agrees_with_trying_all_sets_on_small_clusters) {
  std::mt19937 random(1);
  const auto draw = [&](int low, int high) {
    return std::uniform_int_distribution(low, high)(random);
  };
  int feasible = 0;
  int costly = 0;
  for (int round = 0; round < 20'000; ++round) {
    auto cluster = cluster_of(static_cast<std::size_t>(draw(1, 4)), draw(2, 6),
                              {{draw(1, 3), {}}, {draw(1, 3), {}}, {1, draw(1, 8)}});
    for (int i = draw(0, 11); i > 0; --i) {
      unit what{"r", static_cast<queue_number>(draw(0, 2)), draw(0, 2), 0, draw(1, 4)};
      std::map<node_number, std::int64_t> on;
      auto free = cluster.free;
      for (int pods = draw(1, 3); pods > 0; --pods)
        for (node_number n = 0; n < free.size(); ++n)
          if (free[n] >= what.gpus && draw(0, 1) == 0) {
            free[n] -= what.gpus;
            ++on[n];
            break;
          }
      if (!on.empty() && cluster.running.size() < 10)
        runs(cluster, what, on);
    }
    for (int i = draw(0, 3); i > 0; --i)
      cluster.waiting.push_back(
        {"w", static_cast<queue_number>(draw(0, 2)), draw(0, 2), draw(1, 2), draw(1, 3)});
    const unit who{"new", static_cast<queue_number>(draw(0, 2)), draw(0, 3), draw(1, 3),
                   draw(1, 4)};
    cluster.waiting.push_back(who);
    const auto expected = by_trying_all(cluster, who);
    const auto found = room_for(cluster, who);
    ASSERT_EQ(found ? found->cost.pods : -1, expected) << "round " << round;
    feasible += expected >= 0 ? 1 : 0;
    costly += expected > 1 ? 1 : 0;
  }
  EXPECT_GT(feasible, 1000);
  EXPECT_GT(costly, 500);
}

} // namespace

} // namespace reprieve::disturbance
