#include "tests/integration/daemon.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <set>
#include <sstream>

namespace reprieve {

namespace {

using std::chrono::seconds;

/// A node of two GPUs, and one of one.
constexpr std::string_view cluster = R"(
kind: ResourceGroup
metadata: {name: default}
spec: {requiredNode: {preemptionStartDelay: 8s}}
---
kind: Node
metadata: {name: n1}
spec: {capacity: {gpu: 2}}
---
kind: Node
metadata: {name: n2}
spec: {capacity: {gpu: 1}}
)";

std::string work(const std::string& name, int priority, const std::string& node,
                 const std::string& stop_takes) {
  return "---\nkind: Workload\nmetadata: {name: " + name
         + "}\nspec:\n  priority: " + std::to_string(priority)
         + "\n  gracePeriod: 60s\n  resume: {policy: Never}\n  template:\n"
           "    metadata: {annotations: {simulation/stop-takes: "
         + stop_takes + "}}\n    spec: {requests: {gpu: 1}, nodeSelector: {at: " + node + "}}\n";
}

std::string labelled(std::string manifests) {
  for (const std::string name : {"n1", "n2"}) {
    const auto plain = "{name: " + name + "}";
    manifests.replace(manifests.find(plain), plain.size(),
                      "{name: " + name + ", labels: {at: " + name + "}}");
  }
  return manifests;
}

/// The live state as manifests, through the programs.
class snapshot_of_server : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_TRUE(daemon_.serves()) << daemon_.output();
  }

  void apply(const std::string& manifests) {
    const auto file = (data_.path() / "apply.yaml").string();
    std::ofstream(file) << manifests;
    const auto applied = daemon_.cli({"apply", "-f", file});
    ASSERT_EQ(applied.code, 0) << applied.output;
  }

  std::string taken() const {
    return (data_.path() / "taken.yaml").string();
  }

  void take() {
    const auto result = daemon_.cli({"admin", "snapshot", taken()});
    ASSERT_EQ(result.code, 0) << result.output;
    ASSERT_NE(result.output.find(taken()), std::string::npos) << result.output;
  }

  /// The plans that `decide --all` makes on it, by preemptor.
  std::map<std::string, nlohmann::json> plans(const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments{
      REPRIEVE_BINARIES "/reprieve", "decide", "--all", "-o", "json", "-f", taken()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const auto told = run_program(arguments);
    const auto all = nlohmann::json::parse(told.output, nullptr, false);
    EXPECT_TRUE(all.is_object()) << told.output;
    std::map<std::string, nlohmann::json> found;
    if (all.is_object())
      for (const auto& one : all["plans"])
        found[one["preemptor"]] = one;
    return found;
  }

  static std::set<std::string> victims_in(const nlohmann::json& plan) {
    std::set<std::string> uids;
    for (const auto& one : plan["victims"])
      for (const auto& p : one["pods"])
        uids.insert(p["uid"].get<std::string>());
    return uids;
  }

  temporary_directory data_;
  daemon_process daemon_{data_.path()};
};

TEST_F(snapshot_of_server, is_what_decide_needs_to_say_what_the_server_then_does) {
  apply(labelled(std::string(cluster)) + work("one", 1, "n1", "1s") + work("two", 2, "n1", "1s")
        + work("slow", 1, "n2", "50s"));
  for (const auto* name : {"one", "two", "slow"})
    ASSERT_TRUE(within(seconds{10}, [&] { return daemon_.pods(name, "Running") == 1; })) << name;
  // One waits for a victim that takes its time; the other for its node, which is reserved.
  apply(work("urgent", 9, "n2", "0s")
        + "---\nkind: Workload\nmetadata: {name: agent}\nspec:\n  kind: daemon\n  priority: 9\n"
          "  podGroups:\n    - name: agent\n      requiredNode: n1\n"
          "      template: {spec: {requests: {gpu: 1}}}\n");
  ASSERT_TRUE(within(seconds{5}, [&] { return daemon_.pods("slow", "Terminating") == 1; }));

  take();

  const auto now = plans();
  EXPECT_FALSE(now.contains("urgent")) << "it is nominated, and asks for nothing";
  ASSERT_TRUE(now.contains("agent"));
  EXPECT_EQ(now.at("agent")["outcome"], "reserves") << now.at("agent");
  std::ifstream file(taken());
  std::stringstream text;
  text << file.rdbuf();
  for (const auto* part : {"phase: Nominated", "evictedBy:", "stopToldTime:", "decisions:",
                           "reservations:", "grants:", "phase: Committed"})
    EXPECT_NE(text.str().find(part), std::string::npos) << part;

  // Once the delay is over, the server does what was said of that time.
  const auto later = plans({"--now", "2100-01-01T00:00:00Z"});
  ASSERT_TRUE(later.contains("agent"));
  const auto said = victims_in(later.at("agent"));
  ASSERT_EQ(said.size(), 1U) << later.at("agent");
  nlohmann::json done;
  ASSERT_TRUE(
    within(seconds{20},
           [&] {
             const auto told = daemon_.cli({"explain", "workload", "agent", "-o", "json"});
             done = nlohmann::json::parse(told.output, nullptr, false);
             return done.is_object() && done.contains("decisions") && !done["decisions"].empty();
           }))
    << done;
  EXPECT_EQ(victims_in(done["decisions"][0]), said) << done;
  EXPECT_TRUE(said.begin()->starts_with("one-")) << "the less important of the two";
}

TEST_F(snapshot_of_server, replaces_a_file_only_when_it_is_whole) {
  apply(labelled(std::string(cluster)));
  std::ofstream(taken()) << "before";
  const auto nowhere = daemon_.cli({"admin", "snapshot", (data_.path() / "no/f.yaml").string()});
  EXPECT_EQ(nowhere.code, 2) << nowhere.output;
  daemon_.kill();
  EXPECT_EQ(daemon_.cli({"admin", "snapshot", taken()}).code, 1);
  std::ifstream file(taken());
  std::string kept;
  file >> kept;
  EXPECT_EQ(kept, "before");
  EXPECT_FALSE(std::filesystem::exists(taken() + ".new"));
}

} // namespace

} // namespace reprieve
