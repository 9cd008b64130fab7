// Work that waits in vain costs the others nothing that people notice, through the real programs.

#include "tests/integration/live/live_cluster.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace reprieve {

namespace {

using steady = std::chrono::steady_clock;

class waiting_live : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_TRUE(cluster_.serves()) << cluster_.daemon().output();
  }

  /// How long a pod that fits takes from its submission until it runs; the median of nine.
  std::chrono::milliseconds start_time(const std::string& prefix) {
    std::vector<std::chrono::milliseconds> times;
    for (int i = 0; i < 9; ++i) {
      const auto name = fmt::format("{}-{}", prefix, i);
      const auto began = steady::now();
      cluster_.run(work_of(name, {.queue = "q0", .requests = "cpu: 1"}), name);
      times.push_back(std::chrono::duration_cast<std::chrono::milliseconds>(steady::now() - began));
    }
    std::ranges::nth_element(times, times.begin() + 4);
    return times[4];
  }

  live_cluster cluster_;
};

TEST_F(waiting_live, many_kinds_that_wait_in_vain_delay_neither_placements_nor_answers) {
  cluster_.apply(nodes(40, "gpu: 8, cpu: 1000") + queue_of("q0", "weight: 3, capByDemand: true")
                 + queue_of("q1", "weight: 2, capByDemand: true, limit: {gpu: 16}"));
  // Seven GPUs of each node are taken by what nobody preempts, the eighth by what anybody may.
  cluster_.run(work_of("fills", {.queue = "q0", .priority = 500, .pods = 40, .requests = "gpu: 7"}),
               "fills", 40);
  cluster_.run(work_of("beside-them", {.queue = "q0", .pods = 40}), "beside-them", 40);
  const auto alone = start_time("alone");

  // Five hundred kinds that ask for more on a node than anybody could leave, or as a gang for more
  // than their queue's limit.
  std::string waiting;
  for (int i = 0; i < 1500; ++i) {
    work_shape shape;
    shape.queue = fmt::format("q{}", i % 2);
    shape.priority = 10 + i % 7;
    shape.gang = i % 2 != 0;
    shape.pods = shape.gang ? 20 : 1;
    shape.requests = fmt::format("gpu: {}, cpu: {}m", shape.gang ? 1 : 2 + i % 5, 1000 + i % 500);
    waiting += work_of(fmt::format("w-{}", i), shape);
  }
  cluster_.mark();
  cluster_.apply(waiting);
  EXPECT_TRUE(cluster_.rests(std::chrono::seconds{2}, std::chrono::seconds{60}));

  const auto beside = start_time("beside");
  EXPECT_LE(beside.count(), alone.count() * 3 / 2 + 100)
    << "alone it takes " << alone.count() << " ms";
  const auto began = steady::now();
  EXPECT_FALSE(cluster_.explain("w-1").empty());
  EXPECT_LE(steady::now() - began, std::chrono::seconds{1});
  EXPECT_EQ(cluster_.evicted(), pod_counts{});
}

// Nothing else happens in these: time, or the rules, are all that changes.

std::string guarded(const std::string& limits) {
  return "---\nkind: ResourceGroup\nmetadata: {name: default}\nspec: {guards: {" + limits + "}}\n";
}

TEST_F(waiting_live, one_that_has_run_for_its_minimum_goes_without_anything_else_happening) {
  cluster_.apply(guarded("minimumRuntime: 6s") + nodes(1, "gpu: 2"));
  cluster_.run(work_of("young", {.pods = 2}), "young", 2);
  cluster_.mark();
  cluster_.apply(work_of("urgent", {.priority = 9}));
  EXPECT_TRUE(cluster_.rests(std::chrono::seconds{1}, std::chrono::seconds{3}));
  EXPECT_EQ(cluster_.evicted(), pod_counts{}) << "it has not run for six seconds";
  cluster_.wait_for("urgent");
  EXPECT_EQ(cluster_.evicted(), (pod_counts{{"young", 1}}));
}

TEST_F(waiting_live, a_minimum_of_the_workload_itself_ends_likewise) {
  cluster_.apply(nodes(1, "gpu: 1"));
  cluster_.run(work_of("young", {.more = "minimumRuntime: 6s"}), "young");
  cluster_.mark();
  cluster_.apply(work_of("urgent", {.priority = 9}));
  EXPECT_TRUE(cluster_.rests(std::chrono::seconds{1}, std::chrono::seconds{3}));
  EXPECT_EQ(cluster_.evicted(), pod_counts{});
  cluster_.wait_for("urgent");
  EXPECT_EQ(cluster_.evicted(), (pod_counts{{"young", 1}}));
}

TEST_F(waiting_live, a_guard_that_is_taken_away_lets_those_go_whom_it_kept) {
  cluster_.apply(guarded("minimumRuntime: 1h") + nodes(1, "gpu: 1"));
  cluster_.run(work_of("young", {}), "young");
  cluster_.mark();
  cluster_.apply(work_of("urgent", {.priority = 9}));
  EXPECT_TRUE(cluster_.rests());
  EXPECT_EQ(cluster_.evicted(), pod_counts{});
  cluster_.apply(guarded("minimumRuntime: 1s"));
  cluster_.wait_for("urgent");
  EXPECT_EQ(cluster_.evicted(), (pod_counts{{"young", 1}}));
}

TEST_F(waiting_live, a_limit_that_is_raised_lets_one_come_in_place_of_a_less_important_one) {
  cluster_.apply(nodes(1, "gpu: 16") + queue_of("q", "limit: {gpu: 7}, capByDemand: true"));
  cluster_.run(work_of("stays", {.queue = "q", .priority = 9, .pods = 6}), "stays", 6);
  cluster_.run(work_of("goes", {.queue = "q", .priority = 3}), "goes");
  cluster_.mark();
  cluster_.apply(work_of("urgent", {.queue = "q", .priority = 5, .requests = "gpu: 3"}));
  EXPECT_TRUE(cluster_.rests());
  EXPECT_EQ(cluster_.evicted(), pod_counts{}) << "nobody whom it may take leaves it enough";
  cluster_.apply(queue_of("q", "limit: {gpu: 9}, capByDemand: true"));
  cluster_.wait_for("urgent");
  EXPECT_EQ(cluster_.evicted(), (pod_counts{{"goes", 1}}));
}

TEST_F(waiting_live, a_guarantee_that_is_taken_away_lets_the_room_below_a_limit_go) {
  const auto team = queue_of("team", "limit: {gpu: 2}, capByDemand: true")
                    + queue_of("b", "parent: team, capByDemand: true");
  cluster_.apply(nodes(1, "gpu: 4") + team
                 + queue_of("a", "parent: team, capByDemand: true, guaranteed: {gpu: 2}"));
  cluster_.run(work_of("kept", {.queue = "a", .pods = 2}), "kept", 2);
  cluster_.mark();
  cluster_.apply(work_of("urgent", {.queue = "b", .priority = 9}));
  EXPECT_TRUE(cluster_.rests());
  EXPECT_EQ(cluster_.evicted(), pod_counts{});
  cluster_.apply(queue_of("a", "parent: team, capByDemand: true"));
  cluster_.wait_for("urgent");
  EXPECT_EQ(cluster_.evicted(), (pod_counts{{"kept", 1}}));
}

} // namespace

} // namespace reprieve
