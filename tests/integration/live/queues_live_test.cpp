// What queues do to running work, seen from outside: who runs, who was stopped and how often.

#include "tests/integration/live/live_cluster.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

namespace reprieve {

namespace {

using testing::HasSubstr;

class queues_live : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_TRUE(cluster_.serves()) << cluster_.daemon().output();
  }

  /// A change that brings nothing more after it: the same for `decide` and for the server.
  void change(const std::string& manifests, const pod_counts& go) {
    const auto offline = cluster_.decide_with(manifests);
    EXPECT_EQ(offline.victims, go) << "offline: " << offline.output;
    cluster_.mark();
    cluster_.apply(manifests);
    EXPECT_TRUE(cluster_.rests()) << "it does not come to rest";
    EXPECT_EQ(cluster_.evicted(), go);
    const auto started = cluster_.started();
    for (const auto& workload : offline.placed)
      EXPECT_TRUE(started.contains(workload))
        << workload << " is placed offline and does not start: " << cluster_.explain(workload);
  }

  live_cluster cluster_;
};

// -- storms: 64 GPUs, gangs that take two whole nodes, and a small queue beside them --------------

class big_and_small : public queues_live {
protected:
  void SetUp() override {
    queues_live::SetUp();
    cluster_.apply(nodes(8, "gpu: 8") + queue_of("big", "weight: 5, capByDemand: true")
                   + queue_of("small", "weight: 1, capByDemand: true, limit: {gpu: 4}"));
    for (int i = 0; i < 4; ++i)
      cluster_.run(gang(500, i), fmt::format("big-500-{}", i), 2);
    for (const int priority : {100, 0})
      for (int i = 0; i < 4; ++i)
        cluster_.apply(gang(priority, i));
    ASSERT_TRUE(cluster_.rests());
    ASSERT_EQ(cluster_.running(), all_of_500_);
  }

  static std::string gang(int priority, int number) {
    return work_of(
      fmt::format("big-{}-{}", priority, number),
      {.queue = "big", .priority = priority, .pods = 2, .gang = true, .requests = "gpu: 8"});
  }

  pod_counts all_of_500_{{"big-500-0", 2}, {"big-500-1", 2}, {"big-500-2", 2}, {"big-500-3", 2}};
};

TEST_F(big_and_small, one_pod_moves_the_gang_that_started_last_and_nobody_else) {
  change(work_of("s", {.queue = "small", .requests = "gpu: 2"}), {{"big-500-3", 2}});

  EXPECT_EQ(cluster_.running(),
            (pod_counts{{"big-500-0", 2}, {"big-500-1", 2}, {"big-500-2", 2}, {"s", 1}}));
  EXPECT_EQ(cluster_.told("Aborted"), 0);
}

TEST_F(big_and_small, a_second_pod_that_fits_beside_the_first_moves_nobody) {
  change(work_of("s", {.queue = "small", .requests = "gpu: 2"}), {{"big-500-3", 2}});

  change(work_of("t", {.queue = "small", .requests = "gpu: 2"}), {});

  EXPECT_EQ(cluster_.running()["t"], 1) << cluster_.explain("t");
}

TEST_F(big_and_small, a_gang_that_its_limit_can_never_admit_moves_nobody_and_explain_says_so) {
  change(work_of("wide", {.queue = "small", .pods = 5, .gang = true}), {});

  EXPECT_EQ(cluster_.running(), all_of_500_);
  const auto why = cluster_.explain("wide");
  EXPECT_THAT(why, HasSubstr("limit"));
  EXPECT_THAT(why, HasSubstr("small"));
  EXPECT_EQ(cluster_.told("Committed", "wide"), 0);
}

TEST_F(queues_live, nine_gpus_move_one_gang_of_a_hundred_on_two_hundred_nodes) {
  cluster_.apply(nodes(200, "gpu: 8") + queue_of("big", "weight: 5, capByDemand: true")
                 + queue_of("small", "weight: 1, capByDemand: true, limit: {gpu: 16}"));
  // A third of them waits, the less important ones.
  for (const int priority : {500, 100, 0}) {
    std::string gangs;
    for (int i = 0; i < 50; ++i)
      gangs += work_of(
        fmt::format("big-{}-{:02}", priority, i),
        {.queue = "big", .priority = priority, .pods = 2, .gang = true, .requests = "gpu: 8"});
    cluster_.apply(gangs);
  }
  ASSERT_TRUE(cluster_.rests());
  ASSERT_EQ(sum(cluster_.running()), 200);

  cluster_.mark();
  std::string pods;
  for (int i = 0; i < 9; ++i)
    pods += work_of(fmt::format("s-{}", i), {.queue = "small"});
  cluster_.apply(pods);
  EXPECT_TRUE(cluster_.rests(std::chrono::seconds{5}));

  EXPECT_EQ(sum(cluster_.evicted()), 2) << "one gang is enough";
  auto runs = cluster_.running();
  for (int i = 0; i < 9; ++i)
    EXPECT_EQ(runs[fmt::format("s-{}", i)], 1) << cluster_.explain(fmt::format("s-{}", i));
  for (int i = 0; i < 50; ++i)
    EXPECT_EQ(runs[fmt::format("big-500-{:02}", i)], 2);
  EXPECT_EQ(cluster_.told("Aborted"), 0);
}

TEST_F(queues_live, one_pod_of_another_queue_moves_one_pod_while_many_wait) {
  cluster_.apply(nodes(8, "gpu: 8") + queue_of("a", "weight: 1, capByDemand: true")
                 + queue_of("b", "weight: 1, capByDemand: true"));
  std::string all;
  for (int i = 0; i < 20; ++i)
    all += work_of(fmt::format("b-{:02}", i), {.queue = "b", .pods = 10});
  cluster_.apply(all);
  ASSERT_TRUE(cluster_.rests());
  ASSERT_EQ(sum(cluster_.running()), 64);

  cluster_.mark();
  cluster_.apply(work_of("one", {.queue = "a"}));
  EXPECT_TRUE(cluster_.rests());

  EXPECT_EQ(sum(cluster_.evicted()), 1);
  EXPECT_EQ(cluster_.running()["one"], 1) << cluster_.explain("one");
  EXPECT_EQ(sum(cluster_.running()), 64);
}

TEST_F(queues_live, one_pod_of_another_queue_moves_one_pod_while_nobody_waits) {
  cluster_.apply(nodes(8, "gpu: 8") + queue_of("a", "weight: 1, capByDemand: true")
                 + queue_of("b", "weight: 1, capByDemand: true"));
  cluster_.run(work_of("old", {.queue = "b", .pods = 63}), "old", 63);
  cluster_.run(work_of("young", {.queue = "b"}), "young");

  change(work_of("one", {.queue = "a"}), {{"young", 1}});

  EXPECT_EQ(cluster_.running(), (pod_counts{{"old", 63}, {"one", 1}}));
}

TEST_F(queues_live, gpus_come_back_where_there_is_enough_of_everything_else) {
  cluster_.apply(nodes(2, "gpu: 2, cpu: 64, memory: 256Gi, pods: 110")
                 + queue_of("a", "weight: 1, capByDemand: true")
                 + queue_of("b", "weight: 1, capByDemand: true"));
  const std::string requests = "gpu: 1, cpu: 2, memory: 8Gi";
  cluster_.run(work_of("old", {.queue = "b", .pods = 3, .requests = requests}), "old", 3);
  cluster_.run(work_of("young", {.queue = "b", .requests = requests}), "young");

  change(work_of("one", {.queue = "a", .requests = requests}), {{"young", 1}});

  EXPECT_EQ(cluster_.running(), (pod_counts{{"old", 3}, {"one", 1}}));
}

// -- a share that falls ---------------------------------------------------------------------------

class falling_share : public queues_live {
protected:
  /// Four CPUs; `a` has three quarters of them, uses its three, and a3 waits for a fourth.
  void fill(int priority_of_a1) {
    cluster_.apply(nodes(1, "cpu: 4") + queue_of("a", "weight: 3") + queue_of("b", "weight: 1"));
    cluster_.run(work_of("a1", {.queue = "a", .priority = priority_of_a1, .requests = "cpu: 2"}),
                 "a1");
    cluster_.run(work_of("a2", {.queue = "a", .requests = "cpu: 1"}), "a2");
    cluster_.apply(work_of("a3", {.queue = "a", .requests = "cpu: 1"}));
    ASSERT_TRUE(cluster_.rests());
    ASSERT_EQ(cluster_.running(), (pod_counts{{"a1", 1}, {"a2", 1}}));
  }
};

TEST_F(falling_share, takes_the_youngest_and_starts_nobody_on_what_it_takes) {
  fill(0);

  change(queue_of("a", "weight: 1"), {{"a2", 1}});

  EXPECT_EQ(cluster_.running(), (pod_counts{{"a1", 1}}));
  EXPECT_EQ(cluster_.started(), pod_counts{});
}

TEST_F(falling_share, spares_the_more_important) {
  fill(50);

  change(queue_of("a", "weight: 1"), {{"a2", 1}});

  EXPECT_EQ(cluster_.running(), (pod_counts{{"a1", 1}}));
  EXPECT_EQ(cluster_.started(), pod_counts{});
}

TEST_F(falling_share, takes_back_who_waits_for_room_before_somebody_who_runs) {
  const auto slow = [](const std::string& queue, int pods) {
    return work_shape{.queue = queue, .pods = pods, .annotations = "simulation/stop-takes: 5s"};
  };
  cluster_.apply(nodes(1, "gpu: 4") + queue_of("a", "weight: 1") + queue_of("b", "weight: 1"));
  cluster_.run(work_of("a0", slow("a", 1)), "a0");
  cluster_.run(work_of("a1", slow("a", 1)), "a1");
  cluster_.run(work_of("b0", slow("b", 2)), "b0", 2);
  cluster_.apply(work_of("a2", slow("a", 1)));
  ASSERT_TRUE(cluster_.rests());
  cluster_.mark();
  cluster_.apply(queue_of("a", "weight: 3"));
  ASSERT_TRUE(within(std::chrono::seconds{2}, [&] { return sum(cluster_.evicted()) == 1; }));
  cluster_.apply(queue_of("a", "weight: 1"));
  EXPECT_TRUE(cluster_.rests(std::chrono::seconds{6}));

  EXPECT_EQ(cluster_.evicted(), (pod_counts{{"b0", 1}}));
  EXPECT_EQ(cluster_.running(), (pod_counts{{"a0", 1}, {"a1", 1}, {"b0", 2}}));
  EXPECT_EQ(cluster_.started()["a2"], 0) << cluster_.explain("a2");
}

TEST_F(queues_live, nobody_goes_from_a_node_that_takes_no_pods_whatever_queues_deserve) {
  cluster_.apply(nodes(1, "gpu: 8") + queue_of("a", "weight: 1") + queue_of("b", "weight: 1"));
  cluster_.run(work_of("aw", {.queue = "a", .pods = 4}), "aw", 4);
  cluster_.run(work_of("bw", {.queue = "b", .pods = 4}), "bw", 4);
  cluster_.apply("---\nkind: Node\nmetadata: {name: n0}\n"
                 "spec: {capacity: {gpu: 8}, unschedulable: true}\n");
  ASSERT_TRUE(cluster_.rests());
  cluster_.mark();
  cluster_.remove("workload", "bw");
  EXPECT_TRUE(cluster_.rests(std::chrono::seconds{3}));

  EXPECT_EQ(cluster_.evicted(), pod_counts{}) << cluster_.explain("aw");
  EXPECT_EQ(cluster_.running(), (pod_counts{{"aw", 4}}));
}

TEST_F(queues_live, a_limit_that_falls_by_three_takes_the_three_youngest) {
  cluster_.apply(nodes(2, "cpu: 4") + queue_of("q", "weight: 1, limit: {cpu: 6}"));
  for (int i = 0; i < 6; ++i)
    cluster_.run(work_of(fmt::format("w{}", i), {.queue = "q", .requests = "cpu: 1"}),
                 fmt::format("w{}", i));
  for (const auto* name : {"waits-0", "waits-1", "waits-2"})
    cluster_.apply(work_of(name, {.queue = "q", .requests = "cpu: 1"}));
  ASSERT_TRUE(cluster_.rests());

  change(queue_of("q", "weight: 1, limit: {cpu: 3}"), {{"w3", 1}, {"w4", 1}, {"w5", 1}});

  EXPECT_EQ(cluster_.running(), (pod_counts{{"w0", 1}, {"w1", 1}, {"w2", 1}}));
}

TEST_F(queues_live, a_limit_that_falls_by_three_takes_the_least_important_before_the_youngest) {
  cluster_.apply(nodes(2, "cpu: 4") + queue_of("q", "weight: 1, limit: {cpu: 6}"));
  for (int i = 0; i < 6; ++i)
    cluster_.run(work_of(fmt::format("w{}", i),
                         {.queue = "q", .priority = i < 2 ? 0 : 10, .requests = "cpu: 1"}),
                 fmt::format("w{}", i));

  change(queue_of("q", "weight: 1, limit: {cpu: 3}"), {{"w0", 1}, {"w1", 1}, {"w5", 1}});

  EXPECT_EQ(cluster_.running(), (pod_counts{{"w2", 1}, {"w3", 1}, {"w4", 1}}));
}

TEST_F(queues_live, nobody_else_goes_for_one_that_was_told_and_does_not_go) {
  cluster_.apply("---\nkind: ResourceGroup\nmetadata: {name: default}\n"
                 "spec: {forceDeleteAfter: 1s}\n"
                 + nodes(1, "cpu: 4") + queue_of("q", "weight: 1, limit: {cpu: 4}"));
  for (int i = 0; i < 4; ++i)
    cluster_.run(work_of(fmt::format("w{}", i),
                         {.queue = "q",
                          .requests = "cpu: 1",
                          .annotations = "simulation/stop-takes: 60s, simulation/stuck-for: 60s",
                          .more = "gracePeriod: 0s"}),
                 fmt::format("w{}", i));

  cluster_.mark();
  cluster_.apply(queue_of("q", "weight: 1, limit: {cpu: 3}"));
  std::this_thread::sleep_for(std::chrono::seconds{6}); // past all its limits

  EXPECT_EQ(cluster_.evicted(), (pod_counts{{"w3", 1}}));
}

// -- whole units ----------------------------------------------------------------------------------

TEST_F(queues_live, ten_gpus_are_shared_by_three_equal_queues_in_whole_ones) {
  cluster_.apply(nodes(1, "gpu: 10") + queue_of("a", "weight: 1") + queue_of("b", "weight: 1")
                 + queue_of("c", "weight: 1"));
  for (const auto* queue : {"a", "b", "c"})
    cluster_.apply(work_of(std::string(queue) + "-work", {.queue = queue, .pods = 6}));
  EXPECT_TRUE(cluster_.rests());

  EXPECT_EQ(cluster_.queue_amount("a", "deserved", "gpu"), "4");
  EXPECT_EQ(cluster_.queue_amount("b", "deserved", "gpu"), "3");
  EXPECT_EQ(cluster_.queue_amount("c", "deserved", "gpu"), "3");
  EXPECT_EQ(cluster_.running(), (pod_counts{{"a-work", 4}, {"b-work", 3}, {"c-work", 3}}));
  EXPECT_EQ(cluster_.evicted(), pod_counts{});
}

TEST_F(queues_live, eight_gpus_of_three_equal_queues_are_all_used_where_demand_is_no_cap) {
  cluster_.apply(nodes(1, "gpu: 8") + queue_of("a", "weight: 1") + queue_of("b", "weight: 1")
                 + queue_of("c", "weight: 1"));
  for (int i = 0; i < 3; ++i)
    for (const auto* queue : {"a", "b", "c"})
      cluster_.apply(work_of(fmt::format("{}{}", queue, i), {.queue = queue}));
  EXPECT_TRUE(cluster_.rests());

  EXPECT_EQ(sum(cluster_.running()), 8);
  EXPECT_EQ(
    cluster_.running(),
    (pod_counts{
      {"a0", 1}, {"a1", 1}, {"a2", 1}, {"b0", 1}, {"b1", 1}, {"b2", 1}, {"c0", 1}, {"c1", 1}}));
  EXPECT_EQ(cluster_.evicted(), pod_counts{});
}

TEST_F(queues_live, three_equal_queues_that_come_one_by_one_take_what_is_theirs_once) {
  cluster_.apply(nodes(1, "gpu: 8") + queue_of("a", "weight: 1, capByDemand: true")
                 + queue_of("b", "weight: 1, capByDemand: true")
                 + queue_of("c", "weight: 1, capByDemand: true"));
  cluster_.run(work_of("a-work", {.queue = "a", .pods = 12}), "a-work", 8);

  change(work_of("b-work", {.queue = "b", .pods = 12}), {{"a-work", 4}});
  EXPECT_EQ(cluster_.running(), (pod_counts{{"a-work", 4}, {"b-work", 4}}));
  change(work_of("c-work", {.queue = "c", .pods = 12}), {{"a-work", 1}, {"b-work", 1}});
  EXPECT_EQ(cluster_.running(), (pod_counts{{"a-work", 3}, {"b-work", 3}, {"c-work", 2}}));

  cluster_.mark();
  std::this_thread::sleep_for(std::chrono::seconds{10});
  EXPECT_EQ(cluster_.evicted(), pod_counts{});
  EXPECT_EQ(cluster_.started(), pod_counts{});
}

} // namespace

} // namespace reprieve
