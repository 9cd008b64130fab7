#include "tests/engine/worlds/plan_reading.hpp"
#include "tests/engine/worlds/played_cluster.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

/// The cycle with queues that share a cluster (docs/policies.md#queues): whom it stops, for whom,
/// and how often.
namespace reprieve::tests {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

namespace {

/// Eight nodes of eight GPUs, full of gangs of two whole nodes of queue `big`: the four of priority
/// 500 run, those of 100 and 0 wait.
played_cluster full_of_gangs() {
  played_cluster on;
  for (int i = 0; i < 8; ++i)
    on.node(fmt::format("n{}", i), gpus(8));
  on.queue(sharing("big", 5)).queue(limited_to(sharing("small", 1), gpus(4)));
  for (const auto priority : {500, 100, 0})
    for (int i = 0; i < 4; ++i) {
      on.submit(gang_of(fmt::format("big-{}-{}", priority, i), "big", priority, gpus(8), 2));
      EXPECT_EQ(on.settle(), 0u);
    }
  return on;
}

} // namespace

TEST(queues_in_the_cycle, lose_one_gang_to_a_pod_that_deserves_its_room) {
  auto on = full_of_gangs();
  on.submit(work("one", "small", 0, gpus(2)));

  EXPECT_EQ(on.settle(), 2u) << "the two pods of one gang";
  EXPECT_THAT(on.evictions(), ElementsAre("big-500-3", "big-500-3")) << "the youngest of equals";
  EXPECT_EQ(on.pods_of("one"), 1u);
}

TEST(queues_in_the_cycle, lose_nothing_to_work_that_its_own_limit_never_admits) {
  auto on = full_of_gangs();
  on.submit(gang_of("five", "small", 0, gpus(1), 5));

  EXPECT_EQ(on.settle(), 0u);
  EXPECT_THAT(on.why("five"), HasSubstr("queue small has a limit of 4 gpu"));
}

TEST(queues_in_the_cycle, lose_one_pod_to_one_pod_however_many_wait) {
  played_cluster on;
  for (int i = 0; i < 8; ++i)
    on.node(fmt::format("n{}", i), gpus(8));
  on.queue(sharing("a", 1)).queue(sharing("b", 1)).submit(work("many", "b", 0, gpus(1), 200));
  EXPECT_EQ(on.settle(), 0u);
  on.submit(work("one", "a", 0, gpus(1)));

  EXPECT_EQ(on.settle(), 1u);
  EXPECT_EQ(on.pods_of("one"), 1u);
  EXPECT_EQ(on.pods_of("many"), 63u);
}

/// Queue `big` has four GPUs too much. Those that would go first are not where the gang may run,
/// and those that cost least have five.
TEST(queues_in_the_cycle, lose_others_where_those_who_cost_least_would_be_too_much) {
  played_cluster on;
  on.node("n1", gpus(3)).node("n2", gpus(5)).node("n3", gpus(4));
  for (const auto* name : {"n1", "n2", "n3"})
    on.node_named(name).labels = {{"name", name}, {"zone", name[1] == '3' ? "b" : "a"}};
  on.queue(sharing("big", 1)).queue(sharing("small", 1));
  const auto start = [&](const std::string& name, std::int32_t priority, std::int64_t size,
                         const std::string& node) {
    auto w = work(name, "big", priority, gpus(size));
    w.groups.front().pods.node_selector = {{"name", node}};
    on.submit(std::move(w));
    EXPECT_EQ(on.settle(), 0u);
  };
  start("old", 1, 1, "n2");
  start("stays", 9, 3, "n3");
  start("useless", 0, 1, "n3");
  start("new1", 1, 3, "n1");
  start("new2", 1, 2, "n2");
  EXPECT_EQ(on.running().size(), 5u);
  auto gang = gang_of("gang", "small", 0, gpus(3), 2);
  gang.groups.front().pods.node_selector = {{"zone", "a"}};
  on.submit(std::move(gang));

  EXPECT_EQ(on.settle(), 2u);
  EXPECT_THAT(on.evictions(), UnorderedElementsAre("new1", "old"));
  EXPECT_EQ(on.pods_of("gang"), 2u);
}

TEST(queues_in_the_cycle, share_gpus_in_whole_units_and_come_to_rest) {
  played_cluster on;
  on.node("n1", gpus(8));
  for (const auto* name : {"a", "b", "c"})
    on.queue(sharing(name, 1));
  on.submit(work("a-work", "a", 0, gpus(1), 8));
  EXPECT_EQ(on.settle(), 0u);
  EXPECT_EQ(on.pods_of("a-work"), 8u) << "what nobody else asks for is lent";
  on.submit(work("b-work", "b", 0, gpus(1), 8)).submit(work("c-work", "c", 0, gpus(1), 8));

  EXPECT_EQ(on.settle(), 5u);
  EXPECT_EQ(on.pods_of("a-work"), 3u);
  EXPECT_EQ(on.pods_of("b-work"), 3u);
  EXPECT_EQ(on.pods_of("c-work"), 2u);
}

TEST(queues_in_the_cycle, deserve_whole_gpus_by_the_largest_remainder) {
  played_cluster on;
  on.node("n1", gpus(10));
  for (const auto* name : {"a", "b", "c"})
    on.queue(keeping(name, 1)).submit(work(fmt::format("{}-work", name), name, 0, gpus(1), 10));

  EXPECT_EQ(on.settle(), 0u);
  EXPECT_EQ(on.pods_of("a-work"), 4u);
  EXPECT_EQ(on.pods_of("b-work"), 3u);
  EXPECT_EQ(on.pods_of("c-work"), 3u);
}

TEST(queues_in_the_cycle, start_nothing_on_what_is_taken_from_them) {
  played_cluster on;
  on.node("n1", cpus(4)).queue(keeping("a", 3)).queue(keeping("b", 1));
  on.submit(work("a1", "a", 0, cpus(2)));
  on.settle();
  on.submit(work("a2", "a", 0, cpus(1)));
  on.settle();
  on.submit(work("a3", "a", 0, cpus(1)));
  EXPECT_EQ(on.settle(), 0u);
  EXPECT_THAT(on.running(), ElementsAre("a1", "a2"));
  on.queue_named("a").weight = 1;

  EXPECT_EQ(on.settle(), 1u);
  EXPECT_THAT(on.evictions(), ElementsAre("a2"));
  EXPECT_THAT(on.running(), ElementsAre("a1"));
}

TEST(queues_in_the_cycle, lose_as_much_as_their_limit_falls) {
  played_cluster on;
  on.node("n1", cpus(8)).queue(limited_to(sharing("a", 1), cpus(6)));
  for (int i = 0; i < 6; ++i) {
    on.submit(work(fmt::format("a{}", i), "a", i == 0 ? -5 : 0, cpus(1)));
    on.settle();
  }
  on.queue_named("a").limit = cpus(3);

  EXPECT_EQ(on.settle(), 3u);
  EXPECT_THAT(on.evictions(), ElementsAre("a0", "a5", "a4")) << "the lowest, then the youngest";
}

TEST(queues_in_the_cycle, let_important_work_take_the_room_of_others_within_a_limit) {
  played_cluster on;
  on.node("n1", gpus(8)).queue(limited_to(sharing("a", 1), gpus(2)));
  on.submit(work("low1", "a", 0, gpus(1))).submit(work("low2", "a", 0, gpus(1)));
  EXPECT_EQ(on.settle(), 0u);
  on.submit(work("high", "a", 100, gpus(1)));

  EXPECT_EQ(on.settle(), 1u);
  EXPECT_EQ(on.pods_of("high"), 1u);
}

TEST(queues_in_the_cycle, count_victims_for_room_and_for_the_limit_together) {
  played_cluster on;
  on.node("n1", gpus(4)).node("n2", gpus(2)).queue(limited_to(sharing("a", 1), gpus(4)));
  for (const auto* name : {"n1", "n2"}) {
    on.node_named(name).labels["name"] = name;
    auto low = work(fmt::format("low-{}", name), "a", 0, gpus(1), 2);
    low.groups.front().pods.node_selector["name"] = name;
    on.submit(low);
  }
  EXPECT_EQ(on.settle(), 0u);
  on.submit(work("high", "a", 100, gpus(4))).most_victims(3);
  EXPECT_EQ(on.settle(), 0u) << "two for its room, and two more for the limit";
  on.most_victims(4);
  EXPECT_EQ(on.settle(), 4u);
  EXPECT_THAT(on.running(), ElementsAre("high"));
}

TEST(queues_in_the_cycle, let_important_work_take_the_room_of_others_within_a_share) {
  played_cluster on;
  on.node("n1", gpus(8)).queue(keeping("a", 1)).queue(keeping("b", 1));
  on.submit(work("low", "a", 0, gpus(4)));
  EXPECT_EQ(on.settle(), 0u);
  on.submit(work("high", "a", 100, gpus(1)));

  EXPECT_EQ(on.settle(), 1u) << "the rest of the node is kept for the other queue";
  EXPECT_THAT(on.running(), ElementsAre("high"));
}

TEST(queues_in_the_cycle, let_important_work_take_as_much_as_keeps_it_within_the_share) {
  played_cluster on;
  on.node("n1", gpus(2)).queue(limited_to(sharing("a", 1), gpus(3))).queue(sharing("b", 1));
  on.submit(work("low", "a", 1, gpus(1), 2));
  EXPECT_EQ(on.settle(), 0u);
  on.node("n2", gpus(2)).node_named("n1").labels["disk"] = "fast";
  auto other = work("other", "b", 0, gpus(2));
  other.groups.front().pods.node_selector["disk"] = "fast";
  on.submit(other).submit(work("high", "a", 2, gpus(2)));

  EXPECT_EQ(on.settle(), 2u) << "beside one of them it would use what the other queue deserves";
  EXPECT_EQ(on.pods_of("high"), 1u);
}

TEST(queues_in_the_cycle, do_not_touch_a_guarantee_below_the_same_limit) {
  played_cluster on;
  auto first = sharing("first", 1);
  first.parent = "all";
  auto second = first;
  second.name = "second";
  second.guaranteed = gpus(2);
  on.node("n1", gpus(8)).queue(limited_to(sharing("all", 1), gpus(3))).queue(first).queue(second);
  on.submit(work("kept", "second", 0, gpus(1), 2)).submit(work("taken", "first", 0, gpus(1)));
  EXPECT_EQ(on.settle(), 0u);
  on.submit(work("high", "first", 100, gpus(2)));
  EXPECT_EQ(on.settle(), 0u) << "only one GPU could be taken below the limit";
  on.submit(work("higher", "first", 100, gpus(1)));

  EXPECT_EQ(on.settle(), 1u);
  EXPECT_THAT(on.evictions(), ElementsAre("taken"));
}

TEST(queues_in_the_cycle, serve_the_more_important_first_within_a_queue) {
  played_cluster on;
  on.node("n1", gpus(4)).queue(sharing("a", 1)).queue(sharing("b", 1));
  on.submit(work("low", "a", 0, gpus(1), 4)).submit(work("other", "b", 0, gpus(1), 4));
  on.settle();
  EXPECT_EQ(on.pods_of("low"), 2u);
  on.submit(work("high", "a", 10, gpus(2)));

  EXPECT_EQ(on.settle(), 2u);
  EXPECT_EQ(on.pods_of("high"), 1u);
  EXPECT_EQ(on.pods_of("low"), 0u);
  EXPECT_EQ(on.pods_of("other"), 2u) << "another queue's share is not touched";
}

TEST(queues_in_the_cycle, lend_nothing_that_one_behind_others_of_its_queue_would_take_back) {
  played_cluster on;
  on.queue(sharing("a", 5)).queue(sharing("b", 1)).queue(keeping("c", 3));
  on.submit(gang_of("wide", "a", 5, gpus(1), 6)).submit(work("narrow", "a", 1, gpus(4)));
  on.submit(work("borrower", "b", 9, gpus(2)));
  on.node("n1", gpus(7));

  EXPECT_EQ(on.settle(), 0u) << "a deserves four GPUs, and only the second in its line fits there";
  EXPECT_THAT(on.running(), ElementsAre("narrow"));
}

TEST(queues_in_the_cycle, lend_what_nobody_can_use_and_take_it_back_once) {
  played_cluster on;
  on.node("n1", gpus(8)).queue(sharing("x", 1)).queue(sharing("y", 1));
  on.submit(gang_of("x5", "x", 0, gpus(1), 5)).submit(gang_of("y5", "y", 0, gpus(1), 5));

  EXPECT_EQ(on.settle(), 0u);
  EXPECT_EQ(on.running().size(), 1u) << "one runs; neither share would do for either";
  on.submit(work("single", "y", 0, gpus(1), 3));
  EXPECT_EQ(on.settle(), 0u) << "what is left free is enough";
}

/// Four GPUs on two nodes, all used by queue `a`, while work of `b` waits and then some of `c`
/// comes. Where what `b` asks for counts as demand, `a` and `c` deserve less.
struct vain_demand : testing::Test {
  vain_demand() {
    for (const auto* name : {"n1", "n2"})
      on.node(name, gpus(2));
    for (const auto* name : {"a", "b", "c"})
      on.queue(sharing(name, 1));
    on.submit(work("lent", "a", 0, gpus(1), 4));
    EXPECT_EQ(on.settle(), 0u);
  }

  void expect_none_for(workload of_b) {
    const auto name = of_b.name;
    on.submit(std::move(of_b));
    EXPECT_EQ(on.settle(), 0u) << "nobody goes for work that can't start";
    on.submit(work("comes", "c", 0, gpus(1), 3));
    EXPECT_EQ(on.settle(), 2u);
    EXPECT_EQ(on.pods_of("lent"), 2u);
    EXPECT_EQ(on.pods_of("comes"), 2u) << "half of all, not a third";
    EXPECT_EQ(on.pods_of(name), 0u);
  }

  played_cluster on;
};

TEST_F(vain_demand, of_a_pod_that_is_larger_than_any_node_is_none) {
  expect_none_for(work("large", "b", 0, gpus(3)));
}

TEST_F(vain_demand, of_a_gang_that_needs_more_nodes_than_there_are_is_none) {
  expect_none_for(gang_of("wide", "b", 0, gpus(2), 3));
}

TEST_F(vain_demand, of_a_pod_whose_node_selector_nothing_matches_is_none) {
  auto elsewhere = work("elsewhere", "b", 0, gpus(1), 4);
  elsewhere.groups.front().pods.node_selector = {{"zone", "nowhere"}};
  expect_none_for(std::move(elsewhere));
}

TEST_F(vain_demand, of_a_gang_that_no_single_domain_could_hold_is_none) {
  for (const auto* name : {"n1", "n2"})
    on.node_named(name).labels = {{"rack", name}};
  auto spread = gang_of("spread", "b", 0, gpus(1), 3);
  spread.groups.front().topology_keys = {"rack"};
  expect_none_for(std::move(spread));
}

} // namespace reprieve::tests
