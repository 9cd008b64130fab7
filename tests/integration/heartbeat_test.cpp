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

/// A machine falls silent, and its pods are given up two seconds after it counts as lost.
class lost_machine : public heartbeat {
protected:
  void SetUp() override {
    heartbeat::SetUp();
    apply("kind: ResourceGroup\n"
          "metadata: {name: default}\n"
          "spec: {heartbeatTimeout: 1s, lostNodeTimeout: 2s}\n");
    ASSERT_EQ(daemon->cli({"delete", "node", "worker-2"}).code, 0);
    apply("kind: Workload\n"
          "metadata: {name: train}\n"
          "spec:\n"
          "  resume: {policy: Always, backoff: 1s}\n"
          "  podGroups:\n"
          "    - {name: g, count: 2, template: {spec: {requests: {gpu: 4}}}}\n");
    ASSERT_TRUE(within(seconds{30}, [&] { return daemon->pods("train", "Running") == 2; }));
    apply("kind: Node\n"
          "metadata: {name: worker-2}\n"
          "spec: {capacity: {gpu: 8}}\n");
  }

  void apply(const std::string& manifest) {
    const auto file = (data.path() / "more.yaml").string();
    std::ofstream(file) << manifest;
    const auto applied = daemon->cli({"apply", "-f", file});
    ASSERT_EQ(applied.code, 0) << applied.output;
  }
};

TEST_F(lost_machine,
       its_pods_come_back_elsewhere_and_what_it_still_runs_is_stopped_when_it_is_back) {
  child_process second(daemon->command({"heartbeat", "worker-2", "--every", "100ms"}),
                       (data.path() / "second").string());
  ASSERT_EQ(daemon->cli({"heartbeat", "worker-1"}).code, 0);
  ASSERT_TRUE(within(seconds{30}, [&] { return state("worker-1") == "PodsLost"; }));
  EXPECT_TRUE(within(seconds{30},
                     [&] {
                       return daemon->pods("train", "Running") == 2
                              && daemon->cli({"get", "pods"}).output.find("worker-1")
                                   == std::string::npos;
                     }))
    << daemon->cli({"get", "pods"}).output;
  const auto told = daemon->cli({"describe", "node", "worker-1"}).output;
  EXPECT_THAT(told, HasSubstr("NodeLost"));
  EXPECT_THAT(told, HasSubstr("2 pods on it are given up"));
  EXPECT_THAT(daemon->cli({"describe", "workload", "train"}).output,
              HasSubstr("2 pods were lost with node worker-1"));

  child_process agent(daemon->command({"heartbeat", "worker-1", "--every", "100ms"}),
                      (data.path() / "agent").string());
  EXPECT_TRUE(within(seconds{30}, [&] { return state("worker-1") == "Ready"; }))
    << state("worker-1");
  const auto events = daemon->cli({"describe", "node", "worker-1"}).output;
  EXPECT_THAT(events,
              HasSubstr("2 pods that were given up there are stopped before anything comes"));
  EXPECT_THAT(events, HasSubstr("NodeClean"));
  EXPECT_EQ(daemon->pods("train", "Running"), 2);
}

TEST_F(lost_machine, a_crash_of_the_daemon_does_not_save_its_pods) {
  ASSERT_EQ(daemon->cli({"heartbeat", "worker-1"}).code, 0);
  ASSERT_TRUE(within(seconds{30}, [&] { return state("worker-1") == "Lost"; }));
  daemon->kill();
  start();
  EXPECT_TRUE(within(seconds{30},
                     [&] {
                       return daemon->pods("train", "Running") == 2
                              && daemon->cli({"get", "pods"}).output.find("worker-1")
                                   == std::string::npos;
                     }))
    << daemon->cli({"get", "pods"}).output;
}

TEST_F(lost_machine, what_was_lost_is_told_after_a_restart) {
  ASSERT_EQ(daemon->cli({"heartbeat", "worker-1"}).code, 0);
  ASSERT_TRUE(within(seconds{30}, [&] { return state("worker-1") == "Lost"; }));
  EXPECT_THAT(daemon->cli({"explain", "pod", "train-g-0-0"}).output,
              HasSubstr("It is on node worker-1, which is lost since"));
  EXPECT_THAT(daemon->cli({"explain", "workload", "train"}).output,
              HasSubstr("2 of its pods are on node worker-1, which is lost since"));
  ASSERT_TRUE(within(seconds{30}, [&] { return state("worker-1") == "PodsLost"; }));
  ASSERT_TRUE(within(seconds{30}, [&] { return daemon->pods("train", "Running") == 2; }));
  daemon->kill();
  start();
  const std::string lost = "2 pods were lost with node worker-1: train-g-0-0, train-g-0-1";
  EXPECT_THAT(daemon->cli({"explain", "workload", "train"}).output, HasSubstr(lost));
  EXPECT_THAT(daemon->cli({"explain", "pod", "train-g-0-1"}).output, HasSubstr(lost));
  EXPECT_THAT(daemon->cli({"describe", "workload", "train"}).output, HasSubstr(lost));
}

TEST_F(lost_machine, a_node_that_is_applied_anew_tells_how_it_is_cleaned) {
  apply("kind: Workload\n"
        "metadata: {name: slow}\n"
        "spec:\n"
        "  gracePeriod: 60s\n"
        "  podGroups:\n"
        "    - name: g\n"
        "      count: 1\n"
        "      template:\n"
        "        metadata: {annotations: {simulation/stuck-for: 6s}}\n"
        "        spec: {requests: {gpu: 8}}\n");
  ASSERT_TRUE(within(seconds{30}, [&] { return daemon->pods("slow", "Running") == 1; }));
  ASSERT_EQ(daemon->cli({"delete", "node", "worker-2", "--force"}).code, 0);
  apply("kind: Node\n"
        "metadata: {name: worker-2}\n"
        "spec: {capacity: {gpu: 8}}\n");
  EXPECT_THAT(daemon->cli({"describe", "node", "worker-2"}).output,
              HasSubstr("a pod that was given up with an earlier node of that name is stopped"));
  EXPECT_TRUE(within(seconds{30}, [&] {
    return daemon->cli({"describe", "node", "worker-2"}).output.find("NodeClean")
           != std::string::npos;
  }));
}

TEST_F(lost_machine, its_workload_and_its_node_can_be_deleted) {
  ASSERT_EQ(daemon->cli({"heartbeat", "worker-1"}).code, 0);
  ASSERT_TRUE(within(seconds{30}, [&] { return state("worker-1") == "PodsLost"; }));
  EXPECT_EQ(daemon->cli({"delete", "workload", "train"}).code, 0);
  EXPECT_TRUE(within(seconds{30}, [&] {
    return daemon->cli({"get", "workloads"}).output.find("train") == std::string::npos;
  }));
  EXPECT_EQ(daemon->cli({"delete", "node", "worker-1"}).code, 0);
}

TEST_F(lost_machine, a_node_is_deleted_with_its_pods_by_force_only) {
  const auto refused = daemon->cli({"delete", "node", "worker-1"});
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.output, HasSubstr("by force"));

  const auto no_node = daemon->cli({"delete", "workload", "train", "--force"});
  EXPECT_EQ(no_node.code, 2);
  EXPECT_THAT(no_node.output, HasSubstr("a Workload can't be deleted by force"));

  const auto forced = daemon->cli({"delete", "node", "worker-1", "--force"});
  EXPECT_EQ(forced.code, 0) << forced.output;
  EXPECT_EQ(state("worker-1"), "missing");
  EXPECT_TRUE(within(seconds{30}, [&] { return daemon->pods("train", "Running") == 2; }));
}

} // namespace

} // namespace reprieve
