#include "tests/integration/daemon.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <map>
#include <thread>

namespace reprieve {

namespace {

using std::chrono::milliseconds;

/// How often the simulated cluster entered a stage with each pod.
std::map<std::string, int> times_in(const std::filesystem::path& data, std::string_view stage) {
  std::map<std::string, int> times;
  std::ifstream file(data / "simulated-cluster.jsonl");
  for (std::string line; std::getline(file, line);) {
    const auto parsed = nlohmann::json::parse(line, nullptr, false);
    if (parsed.is_object() && parsed.value("stage", "") == stage)
      ++times[parsed.value("uid", "")];
  }
  return times;
}

class crash : public testing::TestWithParam<int> {};

/// The daemon is killed so many milliseconds after the urgent gang was acknowledged.
TEST_P(crash, at_any_moment_loses_nothing_and_stops_nobody_twice) {
  const temporary_directory data;
  {
    daemon_process daemon(data.path());
    ASSERT_TRUE(daemon.serves()) << daemon.output();
    ASSERT_EQ(daemon.cli({"apply", "-f", demo_manifest("1-cluster.yaml")}).code, 0);
    ASSERT_EQ(daemon.cli({"apply", "-f", demo_manifest("2-work.yaml")}).code, 0);
    ASSERT_TRUE(
      within(std::chrono::seconds{20}, [&] { return daemon.pods("train-large", "Running") == 4; }));
    ASSERT_EQ(daemon.cli({"apply", "-f", demo_manifest("3-urgent.yaml")}).code, 0);
    std::this_thread::sleep_for(milliseconds{GetParam()});
    daemon.kill();
  }
  daemon_process daemon(data.path());
  ASSERT_TRUE(daemon.serves()) << daemon.output();
  EXPECT_EQ(daemon.cli({"get", "workload", "urgent-inference"}).code, 0);
  EXPECT_TRUE(within(std::chrono::seconds{30},
                     [&] { return daemon.pods("urgent-inference", "Running") == 4; }))
    << daemon.cli({"explain", "workload", "urgent-inference"}).output << daemon.output();
  EXPECT_EQ(daemon.pods("train-small", "Running"), 2);
  EXPECT_EQ(daemon.pods("notebook", "Running"), 1);
  const auto stopped = times_in(data.path(), "stopping");
  EXPECT_EQ(stopped.size(), 4U);
  for (const auto& [uid, times] : stopped)
    EXPECT_EQ(times, 1) << uid << " was stopped twice";
  for (const auto& [uid, times] : times_in(data.path(), "starting"))
    EXPECT_EQ(times, 1) << uid << " was started twice";
  EXPECT_EQ(daemon.stop(), 0) << daemon.output();
}

INSTANTIATE_TEST_SUITE_P(moments, crash,
                         testing::Values(0, 2, 5, 8, 12, 20, 50, 120, 400, 900, 1600, 2100),
                         testing::PrintToStringParamName());

} // namespace

} // namespace reprieve
