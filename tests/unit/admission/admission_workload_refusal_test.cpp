#include "tests/unit/admission/admission_refused.hpp"

#include <chrono>
#include <limits>

namespace reprieve::admission_tests {

namespace {

using std::chrono::seconds;

/// A change to the workload `train`, which exists.
broken_rule bad_change(std::string name, const std::function<void(workload&)>& change,
                       std::string field, std::string says) {
  return changed<workload>(std::move(name), a_cluster().facts.workloads.at("train"), change,
                           std::move(field), std::move(says));
}

broken_rule bad_group_change(std::string name, const std::function<void(pod_group&)>& change,
                             const std::string& field) {
  return bad_change(
    std::move(name), [&](workload& w) { change(w.groups[0]); }, "spec.podGroups[0]." + field,
    "can't be changed");
}

INSTANTIATE_TEST_SUITE_P(
  workloads, refused,
  testing::Values(bad_workload(
                    "unknown_queue", [](auto& w) { w.queue = "gone"; }, "spec.queue", "'gone'"),
                  bad_workload(
                    "unknown_group", [](auto& w) { w.resource_group = "gone"; },
                    "spec.resourceGroup", "name one of: capped, default, sessions"),
                  bad_workload(
                    "label", [](auto& w) { w.labels["a"] = "-"; }, "metadata.labels.a", "'-'"),
                  bad_workload(
                    "negative_grace_period", [](auto& w) { w.grace_period = seconds{-1}; },
                    "spec.gracePeriod", "must not be negative"),
                  bad_workload(
                    "negative_minimum_runtime", [](auto& w) { w.minimum_runtime = seconds{-1}; },
                    "spec.minimumRuntime", "must not be negative"),
                  bad_workload(
                    "negative_backoff", [](auto& w) { w.resume.backoff = seconds{-1}; },
                    "spec.resume.backoff", "must not be negative"),
                  bad_workload(
                    "negative_resume_limit", [](auto& w) { w.resume.limit = -1; },
                    "spec.resume.limit", "at least 0"),
                  bad_workload(
                    "negative_checkpoint", [](auto& w) { w.checkpoint.time_needed = seconds{-1}; },
                    "spec.checkpoint.timeNeeded", "must not be negative"),
                  bad_workload(
                    "no_pod_groups", [](auto& w) { w.groups.clear(); }, "spec.podGroups",
                    "at least one"),
                  bad_workload(
                    "same_group_twice", [](auto& w) { w.groups.push_back(w.groups[0]); },
                    "spec.podGroups[1].name", "earlier group"),
                  bad_workload(
                    "too_many_pods_in_all",
                    [](auto& w) {
                      w.groups.push_back(w.groups[0]);
                      w.groups[1].name = "more";
                      w.groups[1].count = 1'000'000;
                    },
                    "spec.podGroups", "1000004 pods"),
                  bad_workload(
                    "too_many_pods_of_gangs",
                    [](auto& w) {
                      w.groups.push_back(w.groups[0]);
                      w.groups[1].name = "more";
                      w.groups[1].count = 10;
                      w.groups[1].min_count = 10;
                      w.groups[1].replicas = 10'001;
                    },
                    "spec.podGroups", "at most 100000 of those"),
                  bad_workload(
                    "too_many_pods_that_are_bound_to_a_node",
                    [](auto& w) {
                      w.groups.push_back(w.groups[0]);
                      w.groups[1].name = "more";
                      w.groups[1].required_node = "n1";
                      w.groups[1].count = 100'001;
                    },
                    "spec.podGroups", "at most 100000 of those"),
                  bad_workload(
                    "requests_of_more_together_than_a_cluster_can_have",
                    [](auto& w) {
                      w.groups[0].pods.requests["memory"] = std::int64_t{1} << 53;
                      w.groups[0].count = 200;
                      w.groups.push_back(w.groups[0]);
                      w.groups[1].name = "more";
                    },
                    "spec.podGroups[1].template.spec.requests.memory",
                    "is 8Pi, and with 200 such pods the workload asks for more than 2Ei in all"),
                  bad_workload(
                    "a_million_pods_of_the_largest_size",
                    [](auto& w) {
                      w.groups[0].pods.requests["memory"] = std::int64_t{1} << 53;
                      w.groups[0].count = 1'000'000;
                      w.groups[0].min_count.reset();
                      w.groups[0].disruption = disruption_mode::pod;
                    },
                    "spec.podGroups[0].template.spec.requests.memory", "more than 2Ei in all")),
  case_name);

INSTANTIATE_TEST_SUITE_P(
  pod_groups, refused,
  testing::Values(bad_pod_group(
                    "no_pods", [](auto& g) { g.count = 0; }, "count", "is 0"),
                  bad_pod_group(
                    "too_many_pods", [](auto& g) { g.count = 1'000'001; }, "count", "1 to 1000000"),
                  bad_pod_group(
                    "no_replicas", [](auto& g) { g.replicas = -3; }, "replicas", "is -3"),
                  bad_pod_group(
                    "min_count_above_count", [](auto& g) { g.min_count = 5; }, "minCount",
                    "is 5; it must be 1 to the group's count, 4"),
                  bad_pod_group(
                    "min_count_below_one", [](auto& g) { g.min_count = 0; }, "minCount", "is 0"),
                  bad_pod_group(
                    "disrupted_whole_without_a_gang",
                    [](auto& g) {
                      g.min_count.reset();
                      g.disruption = disruption_mode::pod_group;
                    },
                    "disruptionMode", "give minCount"),
                  bad_pod_group(
                    "protected_member_too_high",
                    [](auto& g) {
                      g.protected_members = {0, 4};
                    },
                    "protectedMembers[1]", "0 to 3"),
                  bad_pod_group(
                    "negative_protected_member", [](auto& g) { g.protected_members = {-1}; },
                    "protectedMembers[0]", "is -1"),
                  bad_pod_group(
                    "negative_request", [](auto& g) { g.pods.requests["gpu"] = -1; },
                    "template.spec.requests.gpu", "must not be negative"),
                  bad_pod_group(
                    "request_that_overflows",
                    [](auto& g) {
                      g.pods.requests["x"] = std::int64_t{1} << 50;
                      g.count = 1000;
                      g.replicas = 100;
                    },
                    "template.spec.requests.x", "with 100000 such pods the workload asks for more"),
                  bad_pod_group(
                    "pod_label", [](auto& g) { g.pods.labels["a b"] = ""; },
                    "template.metadata.labels", "'a b'"),
                  bad_pod_group(
                    "annotation", [](auto& g) { g.pods.annotations[""] = "x"; },
                    "template.metadata.annotations", "''"),
                  bad_pod_group(
                    "node_selector", [](auto& g) { g.pods.node_selector["zone"] = "a b"; },
                    "template.spec.nodeSelector.zone", "'a b'"),
                  bad_pod_group(
                    "toleration_of_any_value_with_a_value",
                    [](auto& g) {
                      g.pods.tolerations = {{"a", true, "b", {}}};
                    },
                    "template.spec.tolerations[0].value", "operator Exists"),
                  bad_pod_group(
                    "toleration_of_nothing",
                    [](auto& g) {
                      g.pods.tolerations = {{"", false, "", {}}};
                    },
                    "template.spec.tolerations[0].key", "is empty"),
                  bad_pod_group(
                    "toleration_key",
                    [](auto& g) {
                      g.pods.tolerations = {{"a b", false, "", {}}};
                    },
                    "template.spec.tolerations[0].key", "'a b'"),
                  bad_pod_group(
                    "toleration_value",
                    [](auto& g) {
                      g.pods.tolerations = {{"a", false, "b c", {}}};
                    },
                    "template.spec.tolerations[0].value", "'b c'"),
                  bad_pod_group(
                    "empty_topology_key",
                    [](auto& g) {
                      g.topology_keys = {"zone", ""};
                    },
                    "topology[1]", "''"),
                  bad_pod_group(
                    "same_topology_key_twice",
                    [](auto& g) {
                      g.topology_keys = {"zone", "rack", "zone"};
                    },
                    "topology[2]", "once"),
                  bad_pod_group(
                    "unknown_required_node", [](auto& g) { g.required_node = "gone"; },
                    "requiredNode", "no node of that name"),
                  bad_pod_group(
                    "required_node_of_another_group", [](auto& g) { g.required_node = "n2"; },
                    "requiredNode", "resource group 'capped'")),
  case_name);

INSTANTIATE_TEST_SUITE_P(
  priorities, refused,
  testing::Values(bad_workload(
                    "unknown_class", [](auto& w) { w.priority_class = "gone"; },
                    "spec.priorityClassName", "'gone'"),
                  bad_workload(
                    "unknown_preemption_class",
                    [](auto& w) { w.preemption_priority_class = "gone"; },
                    "spec.preemptionPriorityClassName", "'gone'"),
                  bad_pod_group(
                    "unknown_class_of_a_pod_group", [](auto& g) { g.priority_class = "gone"; },
                    "priorityClassName", "'gone'"),
                  bad_workload(
                    "class_and_another_number",
                    [](auto& w) {
                      w.priority_class = "low";
                      w.priority = 11;
                    },
                    "spec.priority", "class 'low' has the value 10"),
                  bad_workload(
                    "above_the_users_scale",
                    [](auto& w) { w.priority = highest_user_priority + 1; }, "spec.priority",
                    "at most 1000000000"),
                  bad_workload(
                    "preemption_number_below",
                    [](auto& w) {
                      w.priority_class = "high";
                      w.preemption_priority = 999;
                    },
                    "spec.preemptionPriority", "must not be below"),
                  bad_workload(
                    "preemption_class_below",
                    [](auto& w) {
                      w.priority = 11;
                      w.preemption_priority_class = "low";
                    },
                    "spec.preemptionPriorityClassName", "10 and the priority 11"),
                  bad_workload(
                    "preemption_below_a_pod_group",
                    [](auto& w) {
                      w.preemption_priority = 30;
                      w.groups[0].priority = 31;
                    },
                    "spec.podGroups[0].priority", "30 and the priority 31"),
                  bad_workload(
                    "gap_above_the_cap",
                    [](auto& w) {
                      w.resource_group = "capped";
                      w.priority = 10;
                      w.preemption_priority = 61;
                    },
                    "spec.preemptionPriority", "at most 50"),
                  bad_workload(
                    "gap_of_the_whole_range",
                    [](auto& w) {
                      w.resource_group = "capped";
                      w.priority = std::numeric_limits<std::int32_t>::min();
                      w.preemption_priority = highest_user_priority;
                    },
                    "spec.preemptionPriority", "at most 50"),
                  bad_workload(
                    "gap_of_a_pod_group_above_the_cap",
                    [](auto& w) {
                      w.resource_group = "capped";
                      w.priority = 50;
                      w.preemption_priority = 60;
                      w.groups[0].priority = 9;
                    },
                    "spec.podGroups[0].priority", "at most 50"),
                  bad_workload(
                    "session_number_off_the_scale",
                    [](auto& w) {
                      w.resource_group = "sessions";
                      w.priority = 101;
                    },
                    "spec.priority", "0 to 100"),
                  bad_workload(
                    "negative_session_number",
                    [](auto& w) {
                      w.resource_group = "sessions";
                      w.priority = -1;
                    },
                    "spec.priority", "0 to 100"),
                  bad_workload(
                    "session_class_off_the_scale",
                    [](auto& w) {
                      w.resource_group = "sessions";
                      w.priority_class = "high";
                    },
                    "spec.priorityClassName", "priority 1000"),
                  bad_workload(
                    "session_preemption_priority_off_the_scale",
                    [](auto& w) {
                      w.resource_group = "sessions";
                      w.preemption_priority = 101;
                    },
                    "spec.preemptionPriority", "0 to 100"),
                  bad_workload(
                    "session_pod_group_off_the_scale",
                    [](auto& w) {
                      w.resource_group = "sessions";
                      w.groups[0].priority = 101;
                    },
                    "spec.podGroups[0].priority", "0 to 100")),
  case_name);

INSTANTIATE_TEST_SUITE_P(
  changes, refused,
  testing::Values(
    bad_change(
      "priority_class", [](auto& w) { w.priority_class = "high"; }, "spec.priorityClassName",
      "was 'low'"),
    bad_change(
      "class_to_the_same_number", [](auto& w) { w.priority = 10; }, "spec.priority",
      "can't be changed"),
    bad_change(
      "queue", [](auto& w) { w.queue = "vision"; }, "spec.queue", "was 'default'"),
    bad_change(
      "resource_group", [](auto& w) { w.resource_group = "capped"; }, "spec.resourceGroup",
      "was 'default'"),
    bad_change(
      "kind", [](auto& w) { w.kind = workload_kind::inference; }, "spec.kind", "can't be changed"),
    bad_change(
      "number_of_groups",
      [](auto& w) {
        w.groups.push_back(w.groups[0]);
        w.groups[1].name = "more";
      },
      "spec.podGroups", "has 2 groups, and had 1"),
    bad_group_change(
      "group_name", [](auto& g) { g.name = "others"; }, "name"),
    bad_group_change(
      "requests", [](auto& g) { g.pods.requests["gpu"] = 1; }, "template.spec.requests"),
    bad_group_change(
      "pod_labels", [](auto& g) { g.pods.labels["a"] = "b"; }, "template.metadata.labels"),
    bad_group_change(
      "annotations", [](auto& g) { g.pods.annotations["a"] = "b"; },
      "template.metadata.annotations"),
    bad_group_change(
      "node_selector", [](auto& g) { g.pods.node_selector["a"] = "b"; },
      "template.spec.nodeSelector"),
    bad_group_change(
      "tolerations",
      [](auto& g) {
        g.pods.tolerations = {{"a", true, "", {}}};
      },
      "template.spec.tolerations"),
    bad_group_change(
      "priority_of_pods", [](auto& g) { g.pods.priority = 3; }, "template.spec.priority"),
    bad_group_change(
      "min_count", [](auto& g) { g.min_count = 1; }, "minCount"),
    bad_group_change(
      "disruption_mode", [](auto& g) { g.disruption = disruption_mode::pod_group; },
      "disruptionMode"),
    bad_group_change(
      "topology", [](auto& g) { g.topology_keys = {"zone"}; }, "topology"),
    bad_group_change(
      "required_node", [](auto& g) { g.required_node = "n1"; }, "requiredNode"),
    bad_group_change(
      "own_class", [](auto& g) { g.priority_class = "low"; }, "priorityClassName"),
    bad_group_change(
      "own_number", [](auto& g) { g.priority = 3; }, "priority"),
    bad_group_change(
      "protected_members", [](auto& g) { g.protected_members = {0}; }, "protectedMembers")),
  case_name);

} // namespace

} // namespace reprieve::admission_tests
