#include "tests/integration/daemon.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>
#include <thread>

namespace reprieve {

namespace {

/// One daemon with the demonstration's cluster and work, for all tests here.
class command_line : public testing::Test {
protected:
  static void SetUpTestSuite() {
    data = std::make_unique<temporary_directory>();
    daemon = std::make_unique<daemon_process>(data->path());
    ASSERT_TRUE(daemon->serves()) << daemon->output();
    ASSERT_EQ(daemon->cli({"apply", "-f", demo_manifest("1-cluster.yaml")}).code, 0);
    ASSERT_EQ(daemon->cli({"apply", "-f", demo_manifest("2-work.yaml")}).code, 0);
    for (int i = 0; i < 200 && daemon->pods("train-large", "Running") < 4; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds{50});
  }

  static void TearDownTestSuite() {
    daemon.reset();
    data.reset();
  }

  /// All objects of all kinds, as the server shows them.
  static std::string everything() {
    std::string all;
    for (const auto* kind : {"nodes", "queues", "priorityclasses", "resourcegroups", "workloads",
                             "placements", "disruptionbudgets"})
      all += daemon->cli({"get", kind, "-o", "yaml"}).output;
    return all;
  }

  static std::vector<std::filesystem::path> corpus(const std::string& part) {
    std::vector<std::filesystem::path> files;
    for (const auto& file :
         std::filesystem::directory_iterator(REPRIEVE_SOURCE "/tests/fuzz/manifests/" + part))
      files.push_back(file.path());
    std::sort(files.begin(), files.end());
    return files;
  }

  static void expect_all_refused(const std::string& part, std::size_t least) {
    const auto before = everything();
    const auto files = corpus(part);
    EXPECT_GE(files.size(), least);
    for (const auto& file : files) {
      const auto result = daemon->cli({"apply", "-f", file.string()});
      EXPECT_EQ(result.code, 2) << file << "\n" << result.output;
      EXPECT_EQ(std::count(result.output.begin(), result.output.end(), '\n'), 1) << file << "\n"
                                                                                 << result.output;
    }
    EXPECT_EQ(everything(), before);
  }

  static inline std::unique_ptr<temporary_directory> data;
  static inline std::unique_ptr<daemon_process> daemon;
};

TEST_F(command_line, malformed_manifests_give_one_line_and_2_and_change_nothing) {
  expect_all_refused("shape", 200);
}

TEST_F(command_line, manifests_that_admission_refuses_give_one_line_and_2_and_change_nothing) {
  expect_all_refused("admission", 30);
}

TEST_F(command_line, one_bad_object_keeps_the_good_ones_of_its_file_out) {
  const auto file = (data->path() / "mixed.yaml").string();
  {
    std::ofstream out(file);
    out << "kind: Queue\nmetadata: {name: fine}\nspec: {weight: 1}\n---\n"
           "kind: Queue\nmetadata: {name: orphan}\nspec: {parent: nowhere}\n";
  }
  const auto result = daemon->cli({"apply", "-f", file});
  EXPECT_EQ(result.code, 2);
  EXPECT_NE(result.output.find("nowhere"), std::string::npos) << result.output;
  EXPECT_EQ(daemon->cli({"get", "queue", "fine"}).code, 1);
}

TEST_F(command_line, what_get_prints_can_be_applied_again) {
  for (const auto* kind : {"nodes", "queues", "workloads"})
    for (const auto* format : {"yaml", "json"}) {
      const auto shown = daemon->cli({"get", kind, "-o", format});
      ASSERT_EQ(shown.code, 0) << shown.output;
      const auto file = (data->path() / "again").string();
      std::ofstream(file) << shown.output;
      const auto applied = daemon->cli({"apply", "-f", file});
      EXPECT_EQ(applied.code, 0) << applied.output;
      EXPECT_EQ(applied.output.find("created"), std::string::npos) << applied.output;
      EXPECT_EQ(applied.output.find("configured"), std::string::npos) << applied.output;
    }
}

TEST_F(command_line, describe_shows_pods_decisions_and_events) {
  const auto result = daemon->cli({"describe", "workload", "train-large"});
  EXPECT_EQ(result.code, 0) << result.output;
  for (const auto* part : {"train-large-workers-0-0", "Decisions", "Events", "Started"})
    EXPECT_NE(result.output.find(part), std::string::npos) << part << "\n" << result.output;
}

TEST_F(command_line, get_finds_the_pods_of_a_node_a_workload_and_a_name) {
  const auto on_node = daemon->cli({"get", "pods", "--node", "b1"}).output;
  EXPECT_EQ(std::count(on_node.begin(), on_node.end(), '\n'), 3) << on_node;
  const auto of_gang = daemon->cli({"get", "pods", "--workload", "train-large"}).output;
  EXPECT_EQ(std::count(of_gang.begin(), of_gang.end(), '\n'), 5) << of_gang;
  const auto both =
    daemon->cli({"get", "pods", "--workload", "train-large", "--node", "b2"}).output;
  EXPECT_EQ(std::count(both.begin(), both.end(), '\n'), 3) << both;
  const auto one = daemon->cli({"get", "pod", "train-large-workers-0-3"});
  EXPECT_EQ(std::count(one.output.begin(), one.output.end(), '\n'), 2) << one.output;
  EXPECT_EQ(daemon->cli({"get", "pod", "train-large-workers"}).code, 1);
  const auto node = daemon->cli({"get", "node", "b1"}).output;
  EXPECT_NE(node.find("8/8"), std::string::npos) << node;
}

TEST_F(command_line, explain_speaks_every_format) {
  const auto story = daemon->cli({"explain", "workload", "notebook"});
  EXPECT_EQ(story.code, 0) << story.output;
  EXPECT_NE(story.output.find("Decision "), std::string::npos);
  const auto json = daemon->cli({"explain", "pod", "notebook-pod-0-0", "-o", "json"});
  EXPECT_EQ(json.code, 0) << json.output;
  const auto parsed = nlohmann::json::parse(json.output, nullptr, false);
  ASSERT_TRUE(parsed.is_object()) << json.output;
  const auto id = parsed["decisions"][0]["id"].get<std::string>();
  const auto yaml = daemon->cli({"explain", "decision", id, "-o", "yaml"});
  EXPECT_EQ(yaml.code, 0) << yaml.output;
  EXPECT_NE(yaml.output.find("id: " + id), std::string::npos) << yaml.output;
}

TEST_F(command_line, says_what_is_wrong_with_a_call) {
  EXPECT_EQ(daemon->cli({"get", "gizmos"}).code, 2);
  EXPECT_EQ(daemon->cli({"get", "nodes", "-o", "xml"}).code, 2);
  EXPECT_EQ(daemon->cli({"explain", "queue", "x"}).code, 2);
  EXPECT_EQ(daemon->cli({"delete", "workload"}).code, 2);
  EXPECT_EQ(daemon->cli({"apply", "-f", "/nowhere.yaml"}).code, 2);
  EXPECT_EQ(daemon->cli({"delete", "workload", "nobody"}).code, 1);
  EXPECT_EQ(daemon->cli({"explain", "workload", "nobody"}).code, 1);
}

TEST_F(command_line, refuses_to_delete_what_is_in_use) {
  const auto queue = daemon->cli({"delete", "queue", "models"});
  EXPECT_EQ(queue.code, 1);
  EXPECT_NE(queue.output.find("models"), std::string::npos) << queue.output;
  const auto node = daemon->cli({"delete", "node", "b1"});
  EXPECT_EQ(node.code, 1);
  EXPECT_NE(node.output.find("train-large"), std::string::npos) << node.output;
}

TEST_F(command_line, a_group_does_not_become_one_of_sessions_while_it_holds_other_priorities) {
  const auto file = (data->path() / "pool.yaml").string();
  const auto apply = [&](const std::string& text) {
    std::ofstream(file) << text;
    return daemon->cli({"apply", "-f", file});
  };
  const std::string pool = "kind: ResourceGroup\nmetadata: {name: pool}\n";
  const std::string sessions = pool + "spec: {policy: Sessions}\n";
  ASSERT_EQ(apply(pool
                  + "---\nkind: Workload\nmetadata: {name: urgent}\nspec:\n"
                    "  resourceGroup: pool\n  priority: 1000\n"
                    "  template: {spec: {requests: {gpu: 1}}}\n")
              .code,
            0);
  const auto refused = apply(sessions);
  EXPECT_EQ(refused.code, 2) << refused.output;
  for (const auto* part : {"'pool'", "spec.policy is Sessions", "'urgent'", "1000", "0 to 100"})
    EXPECT_NE(refused.output.find(part), std::string::npos) << part << "\n" << refused.output;
  const auto stayed = daemon->cli({"get", "resourcegroup", "pool", "-o", "yaml"});
  EXPECT_EQ(stayed.output.find("Sessions"), std::string::npos) << stayed.output;

  ASSERT_EQ(daemon->cli({"delete", "workload", "urgent"}).code, 0);
  const auto taken = apply(sessions);
  EXPECT_EQ(taken.code, 0) << taken.output;
}

TEST_F(command_line, a_second_daemon_on_the_same_directory_is_refused_with_a_sentence) {
  daemon_process second(data->path());
  EXPECT_FALSE(second.serves());
  EXPECT_NE(second.output().find(data->path().string()), std::string::npos) << second.output();
}

TEST_F(command_line, a_missing_server_is_named) {
  const auto result =
    run_program({REPRIEVE_BINARIES "/reprieve", "--server", "127.0.0.1:1", "get", "nodes"});
  EXPECT_EQ(result.code, 1);
  EXPECT_NE(result.output.find("127.0.0.1:1"), std::string::npos) << result.output;
}

} // namespace

} // namespace reprieve
