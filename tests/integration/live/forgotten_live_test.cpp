// Machines that come back without their memory, through the real programs.

#include "tests/integration/live/live_cluster.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace reprieve {

namespace {

using std::chrono::seconds;
using testing::HasSubstr;

class forgotten_live : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_TRUE(cluster_.serves()) << cluster_.daemon().output();
  }

  /// Which incarnation of the workload's only pod is there; -1 for none.
  int incarnation(const std::string& workload) const {
    for (const auto& one : cluster_.get("pods"))
      if (one["spec"].value("workload", "") == workload)
        return one["spec"].value("incarnation", 0);
    return -1;
  }

  live_cluster cluster_;
};

TEST_F(forgotten_live, finished_work_does_not_run_again_and_what_ran_comes_back) {
  cluster_.apply(nodes(2, "gpu: 4"));
  cluster_.run(work_of("short", {.annotations = "simulation/run-for: 1s"}), "short");
  cluster_.run(work_of("long", {}), "long");
  ASSERT_TRUE(within(seconds{10}, [&] { return incarnation("short") == -1; }));

  cluster_.restart_without_memory();
  cluster_.wait_for("long");
  EXPECT_EQ(incarnation("long"), 1);
  EXPECT_TRUE(cluster_.rests());
  EXPECT_EQ(cluster_.started(), (pod_counts{{"long", 1}}));
  EXPECT_EQ(cluster_.told("PodsLost", "long"), 1);
  EXPECT_THAT(cluster_.explain("long"), HasSubstr("does not know it any more"));
}

TEST_F(forgotten_live, machines_that_remember_go_on) {
  cluster_.apply(nodes(1, "gpu: 4"));
  cluster_.run(work_of("long", {}), "long");
  cluster_.restart();
  EXPECT_TRUE(cluster_.rests());
  EXPECT_EQ(incarnation("long"), 0);
  EXPECT_EQ(cluster_.started(), (pod_counts{{"long", 1}}));
  EXPECT_EQ(cluster_.told("PodsLost"), 0);
}

TEST_F(forgotten_live, work_that_was_being_stopped_is_gone) {
  cluster_.apply(nodes(1, "gpu: 4"));
  cluster_.run(
    work_of("slow", {.annotations = "simulation/stop-takes: 60s", .more = "gracePeriod: 90s"}),
    "slow");
  cluster_.remove("workload", "slow");
  cluster_.restart_without_memory();
  EXPECT_TRUE(within(seconds{10}, [&] { return cluster_.get("workloads").empty(); }));
  EXPECT_EQ(cluster_.started(), pod_counts{});
}

} // namespace

} // namespace reprieve
