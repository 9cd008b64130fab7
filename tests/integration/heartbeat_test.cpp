#include "tests/integration/daemon.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <sstream>

namespace reprieve {

namespace {

using std::chrono::seconds;
using testing::HasSubstr;

/// A daemon with two nodes, which may be silent for a second.
class heartbeat : public testing::Test {
protected:
  void SetUp() override {
    start();
    const auto file = (data.path() / "nodes.yaml").string();
    std::ofstream(file) << "kind: ResourceGroup\n"
                           "metadata: {name: default}\n"
                           "spec: {heartbeatTimeout: 1s}\n"
                           "---\n"
                           "kind: Node\n"
                           "metadata: {name: worker-1}\n"
                           "spec: {capacity: {gpu: 8}}\n"
                           "---\n"
                           "kind: Node\n"
                           "metadata: {name: worker-2}\n"
                           "spec: {capacity: {gpu: 8}}\n";
    const auto applied = daemon->cli({"apply", "-f", file});
    ASSERT_EQ(applied.code, 0) << applied.output;
  }

  void start() {
    daemon = std::make_unique<daemon_process>(data.path());
    ASSERT_TRUE(daemon->serves()) << daemon->output();
  }

  /// What `get nodes` has in the column STATE.
  std::string state(const std::string& node) const {
    std::istringstream lines(daemon->cli({"get", "nodes"}).output);
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      std::string name;
      std::string between;
      std::string found;
      words >> name >> between >> between >> between >> found;
      if (name == node)
        return found;
    }
    return "missing";
  }

  temporary_directory data;
  std::unique_ptr<daemon_process> daemon;
};

TEST_F(heartbeat, a_node_that_falls_silent_is_shown_as_lost_until_it_is_heard_again) {
  const auto once = daemon->cli({"heartbeat", "worker-1"});
  ASSERT_EQ(once.code, 0) << once.output;
  EXPECT_EQ(once.output, "node/worker-1 heard\n");
  ASSERT_TRUE(within(seconds{30}, [&] { return state("worker-1") == "Lost"; }));
  EXPECT_EQ(state("worker-2"), "Ready") << "nobody ever spoke for it";
  EXPECT_THAT(daemon->cli({"events"}).output, HasSubstr("NodeLost"));
  const auto shown = daemon->cli({"get", "node", "worker-1", "-o", "json"});
  const auto parsed = nlohmann::json::parse(shown.output, nullptr, false);
  ASSERT_TRUE(parsed.is_object()) << shown.output;
  EXPECT_EQ(parsed["status"]["lost"], true) << shown.output;

  child_process agent(daemon->command({"heartbeat", "worker-1", "--every", "100ms"}),
                      (data.path() / "agent").string());
  ASSERT_TRUE(within(seconds{30}, [&] { return state("worker-1") == "Ready"; }));
  EXPECT_THAT(daemon->cli({"describe", "node", "worker-1"}).output, HasSubstr("NodeBack"));
}

TEST_F(heartbeat, a_node_that_does_not_come_back_after_a_crash_of_the_daemon_is_noticed) {
  ASSERT_EQ(daemon->cli({"heartbeat", "worker-1", "worker-2"}).code, 0);
  ASSERT_EQ(daemon->cli({"heartbeat", "--last", "worker-2"}).code, 0);
  daemon->kill();
  start();
  EXPECT_TRUE(within(seconds{30}, [&] { return state("worker-1") == "Lost"; }));
  EXPECT_EQ(state("worker-2"), "Ready") << "its agent took its leave";
}

TEST_F(heartbeat, an_agent_outlasts_its_server) {
  const auto output = (data.path() / "agent").string();
  child_process agent(daemon->command({"heartbeat", "worker-1", "--every", "100ms"}), output);
  ASSERT_TRUE(within(seconds{30}, [&] { return !file_contents(output).empty(); }));
  daemon->kill();
  ASSERT_TRUE(
    within(seconds{30},
           [&] { return file_contents(output).find("no server answers") != std::string::npos; }))
    << file_contents(output);
  EXPECT_TRUE(agent.running());
}

TEST_F(heartbeat, says_what_is_wrong_with_a_call) {
  const auto slip = daemon->cli({"heartbeat", "worker-1", "worker2"});
  EXPECT_EQ(slip.code, 1);
  EXPECT_EQ(slip.output, "reprieve: there is no node worker2; did you mean worker-2?\n");
  const auto strange = daemon->cli({"heartbeat", "elsewhere"});
  EXPECT_EQ(strange.code, 1);
  EXPECT_EQ(strange.output, "reprieve: there is no node elsewhere\n");
  EXPECT_EQ(daemon->cli({"heartbeat"}).code, 2);
  EXPECT_EQ(daemon->cli({"heartbeat", "worker-1", "--every", "0s"}).code, 2);
  const auto often = daemon->cli({"heartbeat", "worker-1", "--every", "often"});
  EXPECT_EQ(often.code, 2);
  EXPECT_THAT(often.output, HasSubstr("such as 10s"));
}

} // namespace

} // namespace reprieve
