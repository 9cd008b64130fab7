#include "testbed/processes/child_process.hpp"
#include "testbed/processes/temporary_directory.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>
#include <string_view>

namespace reprieve {

namespace {

run_result decide_on(const std::string& file, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {REPRIEVE_BINARIES "/reprieve", "decide", "-f",
                                       REPRIEVE_SOURCE "/tests/integration/snapshots/" + file});
  return run_program(arguments);
}

run_result decide(std::vector<std::string> arguments) {
  return decide_on("two-nodes.yaml", std::move(arguments));
}

/// On a node of 8 GPUs that `old` fills with two pods of 4, and `new` wants as much as one of them.
constexpr std::string_view full_node = R"(
kind: Node
metadata: {name: n1}
spec: {capacity: {gpu: 8}}
---
kind: Workload
metadata: {name: new}
spec: {priority: 9, podGroups: [{name: w, template: {spec: {requests: {gpu: 4}}}}]}
---
kind: Workload
metadata: {name: old}
spec:
  priority: 1
  podGroups:
    - {name: w, count: 2, template: {metadata: {labels: {app: old}}, spec: {requests: {gpu: 4}}}}
)";

constexpr std::string_view two_old_pods = R"(
---
kind: Pod
metadata: {name: old-0}
spec: {workload: old, group: w, index: 0, nodeName: n1}
status: {phase: Running}
---
kind: Pod
metadata: {name: old-1}
spec: {workload: old, group: w, index: 1, nodeName: n1}
status: {phase: Running}
---
)";

run_result decide_about(const std::string& manifests, std::vector<std::string> arguments) {
  const temporary_directory directory;
  const auto file = (directory.path() / "snapshot.yaml").string();
  std::ofstream(file) << manifests;
  arguments.insert(arguments.begin(), {REPRIEVE_BINARIES "/reprieve", "decide", "-f", file, "--now",
                                       "2026-01-01T12:00:00Z", "-o", "json"});
  return run_program(arguments);
}

std::string around_full_node(std::string_view more) {
  return std::string(full_node) + std::string(two_old_pods) + std::string(more);
}

TEST(decide, prints_the_plan_for_a_preemptor_and_ends_with_0) {
  const auto told = decide({"--preemptor", "new", "-o", "json"});
  ASSERT_EQ(told.code, 0) << told.output;

  const auto plans = nlohmann::json::parse(told.output).at("plans");

  ASSERT_EQ(plans.size(), 1U);
  EXPECT_EQ(plans[0]["outcome"], "preempts");
  EXPECT_EQ(plans[0]["threshold"], 3);
  EXPECT_EQ(plans[0]["assignments"][0]["node"], "n1");
  EXPECT_EQ(plans[0]["victims"][0]["pods"].size(), 2U) << "the gang goes whole";
  EXPECT_EQ(plans[0]["budgetViolations"], 0);
}

TEST(decide, prints_why_it_is_infeasible_and_ends_with_3) {
  const auto told = decide({"--preemptor", "huge"});

  EXPECT_EQ(told.code, 3);
  EXPECT_NE(told.output.find("too small even when empty"), std::string::npos) << told.output;
}

TEST(decide, ends_with_2_for_a_preemptor_that_is_not_there) {
  const auto told = decide({"--preemptor", "nobody"});

  EXPECT_EQ(told.code, 2);
  EXPECT_NE(told.output.find("its workloads are huge, new, old"), std::string::npos) << told.output;
}

TEST(decide, runs_the_whole_cycle_with_its_queues) {
  const auto told = decide({"--all", "-o", "json"});
  ASSERT_EQ(told.code, 3) << told.output;

  const auto all = nlohmann::json::parse(told.output);

  ASSERT_EQ(all["plans"].size(), 2U);
  EXPECT_EQ(all["plans"][0]["preemptor"], "huge") << "higher priority first";
  EXPECT_EQ(all["plans"][1]["outcome"], "preempts");
  EXPECT_EQ(all["queues"][0]["queue"], "default");
  EXPECT_EQ(all["queues"][0]["deserved"]["gpu"], "16");
}

TEST(decide, goes_on_from_what_the_queues_of_a_snapshot_were_allocated) {
  const auto told = decide_on(
    "two-queues.yaml", {"--policy", "queues", "--now", "2026-01-01T01:00:00Z", "-o", "json"});
  ASSERT_EQ(told.code, 0) << told.output;

  const auto queues = nlohmann::json::parse(told.output).at("queues");

  ASSERT_EQ(queues.size(), 3U);
  EXPECT_EQ(queues[0]["deserved"]["cpu"], "0") << "nobody is in the default queue";
  EXPECT_EQ(queues[1]["cases"][0]["case"], "01.2");
  EXPECT_EQ(queues[1]["allocated"]["cpu"], "4");
  ASSERT_EQ(queues[1]["victims"].size(), 4U);
  EXPECT_EQ(queues[1]["victims"][0]["pods"][0]["uid"], "old-7") << "has run for the shortest time";
  EXPECT_EQ(queues[2]["cases"][0]["case"], "03");
  EXPECT_EQ(queues[2]["preempting"]["cpu"], "4");
}

TEST(decide, counts_replicas_for_a_deployment_whose_group_has_the_lifecycle_policy) {
  const auto told = decide_on("two-clusters.yaml", {"--preemptor", "web", "-o", "json"});
  ASSERT_EQ(told.code, 3) << "the last replica of crawl stays: " << told.output;

  const auto phase = nlohmann::json::parse(told.output).at("lifecycle");

  ASSERT_EQ(phase["matches"].size(), 1U);
  EXPECT_EQ(phase["matches"][0]["victims"][0]["uid"], "crawl-1");
  EXPECT_EQ(phase["scaleDowns"][0]["placement"], "crawl-east");
  EXPECT_EQ(phase["scaleDowns"][0]["to"], 1);
  EXPECT_EQ(phase["unmatched"][0]["pods"], 1);
}

TEST(decide, goes_by_pods_in_such_a_group_if_that_is_asked_for) {
  const auto told = decide_on("two-clusters.yaml",
                              {"--preemptor", "web", "--policy", "workload-aware", "-o", "json"});
  ASSERT_EQ(told.code, 0) << told.output;

  const auto all = nlohmann::json::parse(told.output);

  EXPECT_FALSE(all.contains("lifecycle"));
  EXPECT_EQ(all["plans"].size(), 2U);
}

TEST(decide, runs_the_lifecycle_phase_in_the_whole_cycle) {
  const auto told = decide_on("two-clusters.yaml", {"--all", "-o", "json"});
  ASSERT_EQ(told.code, 3) << told.output;

  const auto all = nlohmann::json::parse(told.output);

  ASSERT_EQ(all["plans"].size(), 1U) << "replicas are no pods of ours to place";
  EXPECT_EQ(all["plans"][0]["preemptor"], "train");
  EXPECT_EQ(all["plans"][0]["outcome"], "placed");
  EXPECT_EQ(all["lifecycle"]["matches"].size(), 1U);
  EXPECT_TRUE(all.contains("queues"));
}

TEST(decide, refuses_the_lifecycle_policy_for_what_is_no_deployment) {
  const auto told =
    decide_on("two-clusters.yaml", {"--preemptor", "train", "--policy", "lifecycle"});

  EXPECT_EQ(told.code, 2);
  EXPECT_NE(told.output.find("decides for those only"), std::string::npos) << told.output;
}

TEST(decide, says_the_same_each_time) {
  const std::vector<std::string> asked{"--all", "--now", "2026-01-01T00:00:00Z", "-o", "json"};
  EXPECT_EQ(decide(asked).output, decide(asked).output);
}

TEST(decide, keeps_whom_the_guard_on_preemptions_per_hour_keeps) {
  constexpr std::string_view once_an_hour = R"(
kind: ResourceGroup
metadata: {name: default}
spec: {guards: {preemptionsPerWorkloadPerHour: 1}}
)";
  const auto preempted_at = [&](const std::string& time) {
    auto manifests = around_full_node(once_an_hour);
    const std::string line = "kind: Workload\nmetadata: {name: old}\n";
    manifests.insert(manifests.find(line) + line.size(),
                     "status: {preempted: [{decision: d1, at: \"" + time + "\"}]}\n");
    return decide_about(manifests, {"--preemptor", "new"});
  };

  EXPECT_EQ(preempted_at("2026-01-01T10:59:00Z").code, 0);
  const auto told = preempted_at("2026-01-01T11:01:00Z");
  EXPECT_EQ(told.code, 3);
}

TEST(decide, counts_pods_that_wait_as_missing_in_budgets) {
  constexpr std::string_view budget = R"(
kind: DisruptionBudget
metadata: {name: old}
spec: {selector: {matchLabels: {app: old}}, maxUnavailable: 1}
)";
  const auto violations = [&](std::string manifests) {
    const auto told = decide_about(manifests, {"--preemptor", "new"});
    return nlohmann::json::parse(told.output).at("plans")[0].at("budgetViolations").get<int>();
  };
  EXPECT_EQ(violations(around_full_node(budget)), 0);
  auto one_more = around_full_node(budget);
  one_more.replace(one_more.find("count: 2"), 8, "count: 3");
  EXPECT_EQ(violations(one_more), 1);
}

TEST(decide, refuses_two_pods_at_one_place_and_ends_with_2) {
  const auto told = decide_about(around_full_node(R"(
kind: Pod
metadata: {name: again}
spec: {workload: old, group: w, index: 1, nodeName: n1}
status: {phase: Running}
)"),
                                 {"--preemptor", "new"});

  EXPECT_EQ(told.code, 2);
  EXPECT_NE(told.output.find("Pod 'again'"), std::string::npos) << told.output;
  EXPECT_NE(told.output.find("pod 'old-1'"), std::string::npos) << told.output;
}

TEST(decide, takes_what_the_manifest_of_a_pod_says_before_what_its_workload_does) {
  auto manifests = around_full_node("");
  ASSERT_EQ(decide_about(manifests, {"--preemptor", "new"}).code, 0);
  for (const std::string place : {"index: 0", "index: 1"})
    manifests.insert(manifests.find(place), "daemon: true, ");

  EXPECT_EQ(decide_about(manifests, {"--preemptor", "new"}).code, 3) << "daemons stay";
}

TEST(decide, tells_of_work_in_a_group_that_has_no_nodes) {
  const auto told = decide_about(std::string(full_node) + R"(
---
kind: ResourceGroup
metadata: {name: empty}
---
kind: Workload
metadata: {name: lost}
spec: {resourceGroup: empty, podGroups: [{name: w, template: {spec: {requests: {gpu: 1}}}}]}
)",
                                 {"--all"});
  ASSERT_EQ(told.code, 3) << told.output;

  const auto plans = nlohmann::json::parse(told.output).at("plans");

  EXPECT_TRUE(std::ranges::any_of(
    plans,
    [](const auto& one) { return one["preemptor"] == "lost" && one["outcome"] == "infeasible"; }))
    << told.output;
}

TEST(decide, takes_pods_from_a_queue_above_its_limit_though_nobody_lacks) {
  auto manifests = around_full_node(R"(
kind: Queue
metadata: {name: default}
spec: {limit: {gpu: 4}}
status: {allocated: {gpu: 8}}
)");
  const auto told = decide_about(manifests, {"--policy", "queues"});
  ASSERT_EQ(told.code, 0) << told.output;

  const auto queues = nlohmann::json::parse(told.output).at("queues");

  EXPECT_EQ(queues[0]["allocated"]["gpu"], "4");
  EXPECT_EQ(queues[0]["victims"].size(), 1U);
}

TEST(decide, counts_pods_that_wait_where_a_queue_is_capped_by_the_number_it_asks_for) {
  auto manifests = around_full_node(R"(
kind: Queue
metadata: {name: capped}
spec: {capByDemand: true}
)");
  manifests.replace(manifests.find("{gpu: 8}"), 8, "{gpu: 8, pods: 4}");
  manifests.insert(manifests.find("priority: 9"), "queue: capped, ");
  const auto told = decide_about(manifests, {"--policy", "queues"});
  ASSERT_EQ(told.code, 0) << told.output;

  const auto queues = nlohmann::json::parse(told.output).at("queues");

  EXPECT_EQ(queues[0]["queue"], "capped");
  EXPECT_EQ(queues[0]["deserved"]["pods"], "1");
}

TEST(decide, tells_which_holds_are_given_up_for_a_more_important_one) {
  const auto told = decide_on("held-room.yaml", {"--preemptor", "high", "-o", "json"});
  ASSERT_EQ(told.code, 0) << told.output;

  const auto made = nlohmann::json::parse(told.output).at("plans").at(0);

  EXPECT_EQ(made["outcome"], "waits") << "for the one that leaves anyway";
  ASSERT_EQ(made["givenUp"].size(), 1U);
  EXPECT_EQ(made["givenUp"][0]["decision"], "d1");
  EXPECT_EQ(made["givenUp"][0]["reason"],
            "high (priority 10) needs room that it holds for mid (priority 5)");
  const auto story = decide_on("held-room.yaml", {"--preemptor", "high"});
  EXPECT_NE(story.output.find("gives up    d1: high (priority 10)"), std::string::npos)
    << story.output;
}

TEST(decide, gives_no_hold_up_for_one_of_equal_priority) {
  const auto told = decide_on("held-room.yaml", {"--preemptor", "equal", "-o", "json"});

  EXPECT_EQ(told.code, 3) << told.output;
  EXPECT_FALSE(nlohmann::json::parse(told.output).at("plans").at(0).contains("givenUp"));
}

TEST(decide, has_those_wait_whose_queue_is_full_or_whose_time_has_not_come) {
  const auto full = decide_on("held-room.yaml", {"--preemptor", "full"});
  const auto again =
    decide_on("held-room.yaml", {"--preemptor", "again", "--now", "2026-01-01T12:00:00Z"});

  EXPECT_EQ(full.code, 3);
  EXPECT_NE(full.output.find("queue small has a limit of 1 gpu"), std::string::npos) << full.output;
  EXPECT_EQ(again.code, 3);
  EXPECT_NE(again.output.find("is tried again in 1h"), std::string::npos) << again.output;
}

TEST(decide, lets_a_session_preempt_from_the_front_only) {
  const auto high = decide_on("session-line.yaml", {"--preemptor", "high"});
  const auto mid = decide_on("session-line.yaml", {"--preemptor", "mid"});

  EXPECT_EQ(high.code, 0) << high.output;
  EXPECT_EQ(mid.code, 3);
  EXPECT_NE(mid.output.find("is not at the front"), std::string::npos) << mid.output;
}

TEST(decide, refuses_to_print_yaml) {
  const auto told = decide({"--preemptor", "new", "-o", "yaml"});

  EXPECT_EQ(told.code, 2);
  EXPECT_NE(told.output.find("say -o json"), std::string::npos) << told.output;
}

TEST(bench_decide, prints_its_figures_as_json) {
  const auto told =
    run_program({REPRIEVE_BINARIES "/reprieve-bench", "decide", "--nodes", "100", "--gang", "4",
                 "--groups", "2", "--preemptors", "5", "-o", "json"});
  ASSERT_EQ(told.code, 0) << told.output;

  const auto figures = nlohmann::json::parse(told.output);

  EXPECT_EQ(figures["preempting"], 5);
  EXPECT_GT(figures["p50_us"], 0);
  EXPECT_GE(figures["p99_us"], figures["p50_us"]);
  EXPECT_GT(figures["decisions_per_s"], 0);
  EXPECT_GT(figures["peak_rss_bytes"], 1'000'000);
}

} // namespace

} // namespace reprieve
