#include "protocol/manifest/manifest_reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <string>
#include <string_view>
#include <variant>

namespace reprieve {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

constexpr manifest_options snapshot{.snapshot = true};

/// The only object in `text`.
template <class T>
T read_one(std::string_view text, manifest_options options = {}) {
  const auto objects = read_manifests(text, "test.yaml", options);
  EXPECT_TRUE(objects.ok()) << objects.status();
  if (!objects.ok() || objects->size() != 1 || !std::holds_alternative<T>(objects->front().value)) {
    ADD_FAILURE() << "not one object of the kind asked for:\n" << text;
    return {};
  }
  return std::get<T>(objects->front().value);
}

std::string error_of(std::string_view text, manifest_options options = {}) {
  const auto objects = read_manifests(text, "test.yaml", options);
  return objects.ok() ? "no error" : std::string(objects.status().message());
}

TEST(manifest_reader, reads_a_node) {
  const auto n = read_one<node>(R"(
apiVersion: reprieve/v1
kind: Node
metadata:
  name: n1
  labels: {zone: a, rack: r7}
spec:
  resourceGroup: training
  taints:
    - {key: gpu, value: h100, effect: NoExecute}
    - key: spare
  capacity: {cpu: 64, memory: 512Gi, gpu: "8", pods: 110, example.com/nic: 2}
  unschedulable: true
  ready: false
)");
  const node expected{
    .name = "n1",
    .resource_group = "training",
    .labels = {{"zone", "a"}, {"rack", "r7"}},
    .taints = {{"gpu", "h100", taint_effect::no_execute}, {"spare", "", taint_effect::no_schedule}},
    .capacity = {{"cpu", 64'000},
                 {"memory", 512LL << 30},
                 {"gpu", 8'000},
                 {"pods", 110},
                 {"example.com/nic", 2}},
    .schedulable = false,
    .ready = false,
  };
  EXPECT_EQ(n, expected);
}

TEST(manifest_reader, reads_a_queue_and_ignores_its_status) {
  const auto q = read_one<queue>(R"({
  "kind": "Queue",
  "metadata": {"name": "research"},
  "spec": {"parent": "root", "weight": 3, "guaranteed": {"gpu": "4"}, "limit": {"gpu": 8},
           "capByDemand": true},
  "status": {"deserved": {"gpu": "6"}, "whatever": [1, 2]}
})");
  const queue expected{.name = "research",
                       .parent = "root",
                       .weight = 3,
                       .guaranteed = {{"gpu", 4'000}},
                       .limit = {{"gpu", 8'000}},
                       .cap_by_demand = true};
  EXPECT_EQ(q, expected);
}

TEST(manifest_reader, reads_a_priority_class_with_its_fields_at_the_top_or_under_spec) {
  const priority_class expected{
    .name = "high", .value = 1000, .global_default = true, .policy = preemption_policy::never};
  EXPECT_EQ(read_one<priority_class>("kind: PriorityClass\n"
                                     "metadata: {name: high}\n"
                                     "value: 1000\n"
                                     "globalDefault: true\n"
                                     "preemptionPolicy: Never\n"),
            expected);
  EXPECT_EQ(
    read_one<priority_class>("kind: PriorityClass\n"
                             "metadata: {name: high}\n"
                             "spec: {value: 1000, globalDefault: true, preemptionPolicy: Never}\n"),
    expected);
}

TEST(manifest_reader, reads_a_resource_group) {
  const auto g = read_one<resource_group>(R"(
kind: ResourceGroup
metadata: {name: sessions}
spec:
  policy: Sessions
  preemptiblePriority: 7
  preemptionOrder: newest
  minimise: work
  requiredNode:
    preemptionStartDelay: 90s
    preemptionVictimPodsSelectionStrategy: multiple
    deviationPercent: 20
    maxVictims: 3
  forceDeleteAfter: 2m
  heartbeatTimeout: 15s
  preemptionPriorityGap: 50
  divisible: [gpu]
  guards:
    minimumRuntime: 5m
    optOutIsVeto: true
    victimsPerDecision: 4
    preemptionsPerWorkloadPerHour: 2
    searchBudget: 5000000000
)");
  const resource_group expected{
    .name = "sessions",
    .policy = group_policy::sessions,
    .preemptible_priority = 7,
    .order = preemption_order::newest,
    .minimised = minimise::work,
    .required_node = {.preemption_start_delay = 90s,
                      .strategies = {victim_strategy::multiple},
                      .deviation_percent = 20,
                      .max_victims = 3},
    .force_delete_after = 2min,
    .heartbeat_timeout = 15s,
    .preemption_priority_gap = 50,
    .divisible = {"gpu"},
    .limits = {.minimum_runtime = 5min,
               .opt_out_is_veto = true,
               .victims_per_decision = 4,
               .preemptions_per_workload_per_hour = 2,
               .search_budget = 5'000'000'000},
  };
  EXPECT_EQ(g, expected);
}

TEST(manifest_reader, reads_a_workload_with_all_its_fields) {
  const auto w = read_one<workload>(R"(
kind: Workload
metadata: {name: train, labels: {team: blue}}
spec:
  resourceGroup: training
  queue: research
  kind: inference
  autoscaled: true
  priorityClassName: high
  priority: 10
  preemptionPriorityClassName: higher
  preemptionPriority: 20
  podGroups:
    - name: workers
      count: 8
      replicas: 2
      minCount: 4
      disruptionMode: PodGroup
      topology: [zone, rack]
      requiredNode: n1
      priorityClassName: low
      priority: -5
      protectedMembers: [0, 3]
      template:
        metadata: {labels: {app: train}, annotations: {note: "a b"}}
        spec:
          requests: {gpu: 1, memory: 64Gi}
          nodeSelector: {zone: a}
          priority: 3
          tolerations:
            - {key: gpu, operator: Exists, effect: NoSchedule}
            - {key: spare, operator: Equal, value: "yes"}
  resume: {policy: Always, backoff: 20s, limit: 3}
  checkpoint: {supported: true, last: 2026-01-31T08:00:00Z, timeNeeded: 45s}
  minimumRuntime: 10m
  gracePeriod: 1m
status: {}
)");
  const pod_group workers{
    .name = "workers",
    .pods = {.requests = {{"gpu", 1'000}, {"memory", 64LL << 30}},
             .labels = {{"app", "train"}},
             .annotations = {{"note", "a b"}},
             .node_selector = {{"zone", "a"}},
             .tolerations = {{"gpu", true, "", taint_effect::no_schedule},
                             {"spare", false, "yes", std::nullopt}},
             .priority = 3},
    .count = 8,
    .replicas = 2,
    .min_count = 4,
    .disruption = disruption_mode::pod_group,
    .topology_keys = {"zone", "rack"},
    .required_node = "n1",
    .priority_class = "low",
    .priority = -5,
    .protected_members = {0, 3},
  };
  const workload expected{
    .name = "train",
    .labels = {{"team", "blue"}},
    .resource_group = "training",
    .queue = "research",
    .kind = workload_kind::inference,
    .autoscaled = true,
    .priority_class = "high",
    .priority = 10,
    .preemption_priority_class = "higher",
    .preemption_priority = 20,
    .groups = {workers},
    .resume = {.policy = resume_policy::always, .backoff = 20s, .limit = 3},
    .checkpoint = {.supported = true,
                   .last = time_point{duration{1'769'846'400s}},
                   .time_needed = 45s},
    .minimum_runtime = 10min,
    .grace_period = 1min,
  };
  EXPECT_EQ(w, expected);
}

TEST(manifest_reader, takes_a_template_under_spec_for_a_lone_pod) {
  const auto w = read_one<workload>("kind: Workload\n"
                                    "metadata: {name: notebook}\n"
                                    "spec: {template: {spec: {requests: {gpu: 1}}}}\n");
  ASSERT_EQ(w.groups.size(), 1U);
  EXPECT_EQ(w.groups[0].name, "pod");
  EXPECT_EQ(w.groups[0].count, 1);
  EXPECT_FALSE(w.groups[0].is_gang());
  EXPECT_EQ(w.groups[0].pods.requests, (resources{{"gpu", 1'000}}));
}

TEST(manifest_reader, takes_a_single_topology_key_for_a_list_of_one) {
  const auto w = read_one<workload>("kind: Workload\n"
                                    "metadata: {name: w}\n"
                                    "spec: {podGroups: [{name: g, topology: rack}]}\n");
  EXPECT_THAT(w.groups.at(0).topology_keys, ElementsAre("rack"));
}

TEST(manifest_reader, reads_a_placement_and_a_budget) {
  EXPECT_EQ(read_one<placement>(
              "kind: Placement\n"
              "metadata: {name: p}\n"
              "spec: {deployment: d, cluster: c, committed: 2, assigned: 3, score: -7}\n"),
            (placement{"p", "d", "c", 2, 3, -7, false, {}}));
  const auto budget =
    read_one<disruption_budget>("kind: DisruptionBudget\n"
                                "metadata: {name: b}\n"
                                "spec: {selector: {matchLabels: {app: x}}, minAvailable: 2}\n");
  EXPECT_EQ(budget.match_labels, (string_map{{"app", "x"}}));
  EXPECT_EQ(budget.min_available, 2);
  EXPECT_EQ(budget.max_unavailable, std::nullopt);
}

TEST(manifest_reader, reads_pods_only_where_they_are_allowed) {
  constexpr auto text = "kind: Pod\n"
                        "metadata: {name: p, uid: u}\n"
                        "spec: {workload: w, group: g, nodeName: n, requests: {gpu: 2}}\n"
                        "status: {phase: ForceDeleting, created: 2026-01-31T08:00:00Z}\n";
  EXPECT_THAT(error_of(text), HasSubstr("snapshots"));
  const auto p = read_one<pod>(text, snapshot);
  EXPECT_EQ(p.uid, "u");
  EXPECT_EQ(p.workload, "w");
  EXPECT_EQ(p.group, "g");
  EXPECT_EQ(p.node, "n");
  EXPECT_EQ(p.phase, pod_phase::force_deleting);
  EXPECT_EQ(p.created, time_point{duration{1'769'846'400s}});
}

TEST(manifest_reader, takes_a_pod_without_a_workload_for_its_own) {
  const auto p = read_one<pod>("kind: Pod\nmetadata: {name: p}\nspec: {priority: 7}\n", snapshot);
  EXPECT_EQ(p.uid, "p");
  EXPECT_EQ(p.workload, "p");
  EXPECT_EQ(p.group, "pod");
  EXPECT_EQ(p.own_priority, 7);
  EXPECT_EQ(p.priority, 7);
}

TEST(manifest_reader, reads_several_documents_and_lists_and_says_where_each_object_stood) {
  const auto objects = read_manifests("---\n"
                                      "# nothing here\n"
                                      "---\n"
                                      "kind: Queue\n"
                                      "metadata: {name: q1}\n"
                                      "---\n"
                                      "kind: List\n"
                                      "items:\n"
                                      "  - kind: Queue\n"
                                      "    metadata: {name: q2}\n"
                                      "  - kind: Node\n"
                                      "    metadata: {name: n1}\n"
                                      "---\n",
                                      "all.yaml");
  ASSERT_TRUE(objects.ok()) << objects.status();
  ASSERT_EQ(objects->size(), 3U);
  EXPECT_EQ(name_of(objects->at(0).value), "q1");
  EXPECT_EQ(objects->at(0).where, (source_position{"all.yaml", 4}));
  EXPECT_EQ(objects->at(1).where, (source_position{"all.yaml", 9}));
  EXPECT_EQ(name_of(objects->at(2).value), "n1");
  EXPECT_EQ(objects->at(2).where, (source_position{"all.yaml", 11}));
}

TEST(manifest_reader, reads_json_with_tabs_and_escapes) {
  const auto n =
    read_one<node>("{\n\t\"kind\": \"Node\",\n\t\"metadata\": {\n\t\t\"name\": \"n\",\n"
                   "\t\t\"labels\": {\"a\": \"\\u00e9 \\ud83d\\ude00 \\\\ud83d \\/\"}\n"
                   "\t}\n}\n");
  EXPECT_EQ(n.labels.at("a"), "\u00e9 \U0001f600 \\ud83d /");
}

TEST(manifest_reader, takes_no_value_for_an_empty_map_or_list) {
  const auto n = read_one<node>("kind: Node\n"
                                "metadata:\n"
                                "  name: n\n"
                                "  labels:\n"
                                "spec:\n"
                                "  taints:\n");
  node expected;
  expected.name = "n";
  EXPECT_EQ(n, expected);
}

TEST(manifest_reader, reads_windows_line_ends_and_a_byte_order_mark) {
  EXPECT_EQ(read_one<queue>("\xEF\xBB\xBFkind: Queue\r\nmetadata:\r\n  name: q\r\n").name, "q");
}

TEST(manifest_reader, says_where_and_what_is_wrong_and_what_would_be_right) {
  EXPECT_EQ(error_of("kind: Workload\n"
                     "metadata: {name: w}\n"
                     "spec:\n"
                     "  podGroups:\n"
                     "    - name: g\n"
                     "      minCount: x\n"),
            "test.yaml:6: spec.podGroups[0].minCount: 'x' is not a whole number; give one such as "
            "4");
}

TEST(manifest_reader, suggests_the_nearest_field_or_lists_those_there_are) {
  EXPECT_EQ(error_of("kind: Queue\nmetadata: {name: q}\nspec:\n  wieght: 3\n"),
            "test.yaml:4: spec.wieght: there is no such field; did you mean weight?");
  EXPECT_EQ(error_of("kind: Queue\nmetadata: {name: q, namespace: x}\n"),
            "test.yaml:2: metadata.namespace: there is no such field; known are name");
  EXPECT_THAT(error_of("kind: Qeueu\nmetadata: {name: q}\n"), EndsWith("did you mean Queue?"));
}

TEST(manifest_reader, reports_only_the_first_error_in_the_order_of_the_file) {
  EXPECT_EQ(error_of("kind: Queue\nmetadata: {name: q}\nspec: {weight: a, parent: []}\n---\n[]\n"),
            "test.yaml:3: spec.weight: 'a' is not a whole number; give one such as 4");
}

TEST(manifest_reader, names_the_item_of_a_list_that_is_wrong) {
  EXPECT_EQ(error_of("kind: List\nitems:\n- kind: Node\n  metadata: {}\n"),
            "test.yaml:3: items[0].metadata.name: is missing; give it a value");
}

TEST(manifest_reader, tells_numbers_and_text_apart) {
  EXPECT_THAT(error_of("kind: Queue\nmetadata: {name: 5}\n"), HasSubstr("put it in quotes"));
  EXPECT_THAT(error_of("kind: Queue\nmetadata: {name: q}\nspec: {weight: '5'}\n"),
              HasSubstr("without quotes"));
  EXPECT_EQ(read_one<queue>("kind: Queue\nmetadata: {name: '5'}\n").name, "5");
}

TEST(manifest_reader, refuses_a_member_that_is_given_under_two_names) {
  EXPECT_THAT(error_of("kind: PriorityClass\nmetadata: {name: c}\nvalue: 1\nspec: {value: 1}\n"),
              HasSubstr("spec.value: is given under another name too"));
  EXPECT_THAT(
    error_of("kind: Workload\nmetadata: {name: w}\nspec: {podGroups: [], template: {}}\n"),
    HasSubstr("spec.template: is given under another name too"));
}

TEST(manifest_reader, keeps_its_error_on_one_line_whatever_the_text_holds) {
  const auto error = error_of("kind: Queue\nmetadata: {name: q}\nspec: {\"a\\nb\\tc\": 1}\n");
  EXPECT_THAT(error, HasSubstr("spec.a?b?c"));
  EXPECT_THAT(error, Not(HasSubstr("\n")));
}

TEST(manifest_reader, refuses_a_text_that_is_too_large_or_too_deep) {
  EXPECT_THAT(error_of(std::string((64U << 20U) + 1, ' ')), HasSubstr("64 MiB"));
  EXPECT_THAT(error_of("status: " + std::string(65, '[') + std::string(65, ']')),
              HasSubstr("64 levels"));
}

TEST(manifest_reader, reads_files_and_says_why_it_can_not) {
  const auto path = testing::TempDir() + "reprieve_manifest_test.yaml";
  std::ofstream(path) << "kind: Queue\nmetadata: {name: q}\n";
  const auto objects = read_manifest_file(path);
  std::remove(path.c_str());
  ASSERT_TRUE(objects.ok()) << objects.status();
  EXPECT_EQ(objects->at(0).where, (source_position{path, 1}));

  const auto missing = read_manifest_file("no/such/file.yaml");
  EXPECT_EQ(missing.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(missing.status().message()),
              testing::StartsWith("no/such/file.yaml: can't be read: "));
}

} // namespace
} // namespace reprieve
