// A workload of a million pods on a small cluster, through the real programs.

#include "tests/integration/live/replica_pair.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <map>

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

/// The youngest goes each time, and is tried again ever later; the others wait for a second.
TEST(large_workload_live, of_a_million_pods_fills_the_room_again_however_often_some_are_stopped) {
  live_cluster cluster;
  ASSERT_TRUE(cluster.serves()) << cluster.daemon().output();
  cluster.apply(nodes(1, "gpu: 4"));
  cluster.apply(work_of("many", {.pods = 1'000'000}));
  ASSERT_TRUE(within(seconds{20}, [&] { return cluster.running()["many"] == 4; }));
  for (int i = 0; i < 8; ++i) {
    const auto urgent = fmt::format("urgent-{}", i);
    cluster.run(work_of(urgent, {.priority = 10}), urgent);
    cluster.remove("workload", urgent);
    EXPECT_TRUE(within(seconds{3}, [&] { return cluster.running()["many"] == 4; }))
      << i << ": " << cluster.explain("many");
  }
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

/// Pods that run, by workload, as the replica says.
std::map<std::string, int> running(replica_pair& replicas, std::size_t by) {
  std::map<std::string, int> counts;
  const auto list =
    nlohmann::json::parse(replicas[by].cli({"get", "pods", "-o", "json"}).output, nullptr, false);
  if (!list.is_object())
    return counts; // who serves them is not known now
  for (const auto& one : list["items"])
    if (one["status"].value("phase", "") == "Running")
      ++counts[one["spec"].value("workload", "")];
  return counts;
}

TEST(large_workload_live, of_a_million_pods_is_known_to_all_replicas_and_survives_one) {
  if (!etcd_process::available())
    GTEST_SKIP() << "no etcd on this machine";
  replica_pair replicas;
  ASSERT_EQ(replicas.apply(nodes(64, "gpu: 8")).code, 0);
  const auto begin = steady_clock::now();
  const auto made = replicas.apply(work_of("many", {.pods = 1'000'000}));
  EXPECT_EQ(made.code, 0) << made.output;
  EXPECT_LT(steady_clock::now() - begin, seconds{5}) << "it is answered at once";
  for (std::size_t i = 0; i < replica_pair::size; ++i)
    ASSERT_TRUE(within(seconds{30}, [&] { return running(replicas, i)["many"] == room; }))
      << "replica " << i;

  const auto urgent =
    replicas.apply(work_of("urgent", {.priority = 10, .pods = 16, .gang = true}), 1);
  EXPECT_EQ(urgent.code, 0) << urgent.output;
  for (std::size_t i = 0; i < replica_pair::size; ++i)
    ASSERT_TRUE(within(seconds{20},
                       [&] {
                         auto now = running(replicas, i);
                         return now["urgent"] == 16 && now["many"] == room - 16;
                       }))
      << "replica " << i;

  replicas[0].kill();
  ASSERT_TRUE(within(seconds{30}, [&] {
    return replicas[1].cli({"delete", "workload", "urgent"}).code == 0;
  }));
  ASSERT_TRUE(within(seconds{30}, [&] { return running(replicas, 1)["many"] == room; }));
  replicas.start(0);
  ASSERT_TRUE(within(seconds{30}, [&] { return running(replicas, 0)["many"] == room; }));
  EXPECT_EQ(replicas[0].cli({"delete", "workload", "many"}).code, 0);
  for (std::size_t i = 0; i < replica_pair::size; ++i)
    EXPECT_TRUE(within(seconds{30},
                       [&] {
                         const auto got = replicas[i].cli({"get", "workloads"});
                         return got.code == 0 && got.output.find("many") == std::string::npos;
                       }))
      << "replica " << i;
}

} // namespace

} // namespace reprieve
