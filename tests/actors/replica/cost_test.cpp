#include "state/store/memory/memory_store.hpp"
#include "testbed/stored/counting_store.hpp"
#include "testbed/stored/stored_cluster.hpp"
#include "tests/support/actor_world.hpp"

#include <gtest/gtest.h>

namespace reprieve {

namespace {

struct cost {
  std::uint64_t messages = 0;
  std::uint64_t transactions = 0;
  std::uint64_t bytes = 0;
};

/// Numbers in keys and names have more digits where there is more to count.
constexpr std::uint64_t digits = 64;

void expect_the_same(const cost& small, const cost& large) {
  EXPECT_EQ(small.messages, large.messages);
  EXPECT_EQ(small.transactions, large.transactions);
  EXPECT_LE(large.bytes, small.bytes + digits);
}

/// What one lone pod costs on a cluster of so many nodes, from its submission until it runs, while
/// so many of another workload wait.
cost of_a_lone_pod(std::size_t nodes, std::size_t spare_per_node, std::int32_t priority,
                   std::int32_t waiting = 0) {
  stored_cluster made_up;
  made_up.nodes = nodes;
  made_up.pods_per_node = 2;
  made_up.spare_per_node = spare_per_node;
  made_up.node_shards = 8;
  made_up.workload_shards = 1; // or it would be chance whether two workloads share one
  auto behind = std::make_shared<counting_store>(std::make_shared<memory_store>());
  made_up.write_to(*behind);
  replica_world world{behind, "", duration{0}, {}, true};
  EXPECT_TRUE(world.start().ok());
  if (waiting > 0) {
    auto many = stored_cluster::lone_pod("many", -1);
    many.groups[0].count = waiting;
    EXPECT_TRUE(world.apply({many}).ok());
  }
  world.world().advance(std::chrono::seconds{2});
  const auto messages = world.world().handled();
  const auto transactions = behind->transactions();
  const auto bytes = behind->bytes();
  EXPECT_TRUE(world.apply({stored_cluster::lone_pod("new", priority)}).ok());
  world.world().advance(std::chrono::seconds{2});
  const cost found{world.world().handled() - messages, behind->transactions() - transactions,
                   behind->bytes() - bytes};
  EXPECT_EQ(world.pods("new", pod_phase::running), 1U);
  return found;
}

TEST(cost, of_a_preemption_does_not_grow_with_the_nodes) {
  const auto small = of_a_lone_pod(100, 0, stored_cluster::urgent);
  expect_the_same(small, of_a_lone_pod(1'000, 0, stored_cluster::urgent));
  expect_the_same(small, of_a_lone_pod(10'000, 0, stored_cluster::urgent));
  EXPECT_LE(small.messages, 110U);
  EXPECT_LE(small.transactions, 14U);
}

TEST(cost, of_a_placement_does_not_grow_with_the_nodes) {
  const auto small = of_a_lone_pod(100, 1, 0);
  expect_the_same(small, of_a_lone_pod(1'000, 1, 0));
  expect_the_same(small, of_a_lone_pod(10'000, 1, 0));
}

TEST(cost, of_a_preemption_does_not_grow_with_the_pods_that_wait) {
  const auto few = of_a_lone_pod(100, 0, stored_cluster::urgent, 10);
  expect_the_same(few, of_a_lone_pod(100, 0, stored_cluster::urgent, 1'000'000));
}

} // namespace

} // namespace reprieve
