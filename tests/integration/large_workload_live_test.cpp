// A workload of a million pods on a small cluster, through the real programs.

#include "tests/integration/live_cluster.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

namespace reprieve {

namespace {

using std::chrono::seconds;
using std::chrono::steady_clock;
using testing::HasSubstr;

constexpr int room = 64 * 8; ///< pods that fit

TEST(large_workload_live, of_a_million_pods_runs_where_there_is_room_beside_others) {
  live_cluster cluster;
  ASSERT_TRUE(cluster.serves()) << cluster.daemon().output();
  cluster.apply(nodes(64, "gpu: 8"));
  const auto begin = steady_clock::now();
  cluster.apply(work_of("many", {.pods = 1'000'000}));
  EXPECT_LT(steady_clock::now() - begin, seconds{5}) << "it is answered at once";
  ASSERT_TRUE(within(seconds{20}, [&] { return cluster.running()["many"] == room; }));
  EXPECT_THAT(cluster.explain("many"), HasSubstr("waits"));

  // More important work has its room at once, and gives it back.
  cluster.apply(work_of("urgent", {.priority = 10, .pods = 16, .gang = true}));
  ASSERT_TRUE(within(seconds{20}, [&] { return cluster.running()["urgent"] == 16; }));
  EXPECT_EQ(cluster.running()["many"], room - 16);
  cluster.remove("workload", "urgent");
  ASSERT_TRUE(within(seconds{20}, [&] { return cluster.running()["many"] == room; }));

  cluster.restart();
  ASSERT_TRUE(within(seconds{20}, [&] { return cluster.running()["many"] == room; }));
  cluster.remove("workload", "many");
  ASSERT_TRUE(within(seconds{20}, [&] { return cluster.get("workloads").empty(); }));
}

TEST(large_workload_live, of_a_million_pods_goes_on_as_they_end) {
  live_cluster cluster;
  ASSERT_TRUE(cluster.serves()) << cluster.daemon().output();
  cluster.apply(nodes(64, "gpu: 8"));
  cluster.mark();
  cluster.apply(work_of("many", {.pods = 1'000'000, .annotations = "simulation/run-for: 1s"}));
  EXPECT_TRUE(within(seconds{30}, [&] { return cluster.started()["many"] > 3 * room; }));
  EXPECT_LE(cluster.running()["many"], room);
}

} // namespace

} // namespace reprieve
