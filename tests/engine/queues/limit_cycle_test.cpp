#include "tests/engine/worlds/played_cluster.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

/// The cycle with queues below one limit (docs/policies.md#queues): whom it stops when the limit
/// falls, and whom for work that the limit keeps out.
namespace reprieve::tests {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

namespace {

queue below(queue q, const std::string& parent) {
  q.parent = parent;
  return q;
}

/// Queue `org` with children `t1` and `t2`, on so many nodes of eight GPUs.
played_cluster two_teams(int nodes, std::int64_t weight_of_t1 = 1) {
  played_cluster on;
  for (int i = 0; i < nodes; ++i)
    on.node("n" + std::to_string(i), gpus(8));
  on.queue(sharing("org", 1));
  on.queue(below(sharing("t1", weight_of_t1), "org")).queue(below(sharing("t2", 1), "org"));
  return on;
}

void start(played_cluster& on, workload w) {
  const auto pods = static_cast<std::size_t>(w.groups.front().count);
  const auto name = w.name;
  on.submit(std::move(w));
  EXPECT_EQ(on.settle(), 0u);
  ASSERT_EQ(on.pods_of(name), pods) << on.why(name);
}

} // namespace

TEST(limit_that_falls, stops_less_important_work_below_it_before_a_gang_that_can_stay_then) {
  auto on = two_teams(3);
  start(on, work("mid", "t1", 10, gpus(1), 4));
  start(on, work("low", "t2", 0, gpus(1), 6));
  start(on, gang_of("gang", "t2", 50, gpus(2), 4));
  on.queue_named("org").limit = gpus(11);

  EXPECT_EQ(on.settle(), 7u);
  EXPECT_THAT(on.evictions(),
              UnorderedElementsAre("low", "low", "low", "low", "low", "low", "mid"));
  EXPECT_EQ(on.pods_of("gang"), 4u);
}

TEST(limit_that_falls, by_one_stops_one_pod_rather_than_a_more_important_gang) {
  auto on = two_teams(3);
  on.queue_named("org").limit = gpus(12);
  start(on, gang_of("gang", "t2", 50, gpus(2), 4));
  start(on, work("high", "t1", 60, gpus(1)));
  start(on, work("mid", "t1", 10, gpus(1), 3));
  on.queue_named("org").limit = gpus(11);

  EXPECT_EQ(on.settle(), 1u);
  EXPECT_THAT(on.evictions(), ElementsAre("mid"));
}

TEST(limit_that_falls, stops_a_gang_that_its_share_has_no_room_for_and_nobody_as_important) {
  auto on = two_teams(3);
  start(on, work("pods", "t1", 50, gpus(1), 4));
  start(on, gang_of("gang", "t2", 50, gpus(2), 4));
  on.queue_named("org").limit = gpus(11);

  EXPECT_EQ(on.settle(), 4u);
  EXPECT_THAT(on.evictions(), Each("gang"));
}

TEST(limit_that_falls, leaves_others_what_a_gang_that_can_not_stay_does_not_use) {
  auto on = two_teams(6, 2);
  start(on, gang_of("gang", "t2", 0, gpus(8), 3));
  start(on, work("pods", "t1", 0, gpus(1), 24));
  on.queue_named("org").limit = gpus(30);

  EXPECT_EQ(on.settle(), 3u) << "nobody goes for a share that the gang can't use";
  EXPECT_THAT(on.evictions(), Each("gang"));
  EXPECT_EQ(on.pods_of("pods"), 24u);
}

TEST(limit_that_falls, takes_nothing_that_a_queue_between_is_guaranteed) {
  auto on = two_teams(3);
  auto division = below(sharing("division", 1), "org");
  division.guaranteed = gpus(4);
  on.queue(std::move(division)).queue(below(sharing("inner", 1), "division"));
  start(on, work("low", "inner", 10, gpus(1), 4));
  start(on, gang_of("gang", "t2", 50, gpus(2), 4));
  on.queue_named("org").limit = gpus(11);

  on.settle();

  EXPECT_EQ(on.pods_of("low"), 4u);
  EXPECT_THAT(on.evictions(), Each("gang"));
}

TEST(limit_that_falls, for_many_queues_costs_no_more_than_a_moment) {
  constexpr int queues = 200;
  queue_stage_input in;
  in.capacity = gpus(20'000);
  in.queues["org"] = limited_to(sharing("org", 1), gpus(queues * 25));
  for (int q = 0; q < queues; ++q) {
    const auto name = "q" + std::to_string(q);
    in.queues[name] = below(sharing(name, 1), "org");
    for (int i = 0; i < 50; ++i) {
      const bool gang = i >= 42; // of eight, larger than what the queue may keep of some weights
      queue_pod p;
      p.queue = name;
      p.uid = name + "-" + std::to_string(i);
      p.portion = {gang ? name + "-gang" : p.uid, "w", 0, gang ? -1 : 0};
      p.requests = gpus(1);
      p.priority = gang ? 50 : i % 3 * 10;
      in.pods.push_back(std::move(p));
    }
  }
  const auto began = std::chrono::steady_clock::now();

  const auto result = run_queue_stage(in);

  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds{10});
  std::size_t going = 0;
  for (const auto& one : result.queues)
    for (const auto& victim : one.victims)
      going += victim.pods.size();
  EXPECT_EQ(going, 50u * queues - 25u * queues);
}

TEST(limit_in_the_way, takes_one_of_its_own_before_what_another_queue_is_guaranteed) {
  played_cluster on;
  for (int i = 0; i < 3; ++i)
    on.node("n" + std::to_string(i), gpus(8));
  auto guarded = below(sharing("guarded", 4), "org");
  guarded.guaranteed = gpus(4);
  on.queue(limited_to(sharing("org", 1), gpus(9)));
  on.queue(below(sharing("large", 5), "org")).queue(std::move(guarded));
  start(on, work("low", "large", 10, gpus(1), 4));
  start(on, gang_of("gang", "guarded", 10, gpus(1), 5));
  on.submit(work("mid", "large", 50, gpus(1)));

  EXPECT_EQ(on.settle(), 1u);
  EXPECT_THAT(on.evictions(), ElementsAre("low"));
  EXPECT_EQ(on.pods_of("gang"), 5u);
}

TEST(limit_in_the_way, takes_from_a_queue_that_uses_more_than_it_deserves_before_its_own) {
  played_cluster on;
  for (int i = 0; i < 4; ++i)
    on.node("n" + std::to_string(i), gpus(8));
  auto small = below(sharing("small", 1), "org");
  small.guaranteed = gpus(2);
  on.queue(limited_to(sharing("org", 1), gpus(7)));
  on.queue(below(sharing("large", 4), "org")).queue(std::move(small));
  start(on, work("low", "large", 10, gpus(1), 6));
  start(on, work("young", "small", 10, gpus(1)));
  on.submit(work("mid", "small", 50, gpus(1)));

  EXPECT_EQ(on.settle(), 1u);
  EXPECT_THAT(on.evictions(), ElementsAre("low"));
  EXPECT_EQ(on.pods_of("young"), 1u);
  EXPECT_EQ(on.pods_of("mid"), 1u);
}

} // namespace reprieve::tests
