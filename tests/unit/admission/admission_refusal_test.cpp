#include "tests/unit/admission/admission_refused.hpp"

#include <chrono>
#include <limits>

namespace reprieve::admission_tests {

TEST_P(refused, at_the_field_with_what_would_be_right) {
  const auto c = a_cluster();
  const auto refusals = check(GetParam().batch, c.known, c.facts);
  std::string all;
  for (const auto& r : refusals)
    all += to_string(r) + '\n';
  ASSERT_EQ(refusals.size(), 1U) << all;
  EXPECT_EQ(refusals[0].field, GetParam().field);
  EXPECT_EQ(refusals[0].message.find(GetParam().field), 0U) << all;
  EXPECT_NE(refusals[0].message.find(GetParam().says), std::string::npos) << all;
  EXPECT_EQ(refusals[0].kind, kind_of(GetParam().batch.back()));
  EXPECT_EQ(refusals[0].name, name_of(GetParam().batch.back()));
}

namespace {

using std::chrono::hours;
using std::chrono::seconds;

constexpr auto huge = std::numeric_limits<std::int64_t>::max();

broken_rule bad_resource_group(std::string name, const std::function<void(resource_group&)>& change,
                               std::string field, std::string says) {
  return changed<resource_group>(std::move(name), a_group("pool"), change, std::move(field),
                                 std::move(says));
}

broken_rule bad_node(std::string name, const std::function<void(node&)>& change, std::string field,
                     std::string says) {
  return changed<node>(std::move(name), a_node("new"), change, std::move(field), std::move(says));
}

broken_rule bad_queue(std::string name, const std::function<void(queue&)>& change,
                      std::string field, std::string says) {
  return changed<queue>(std::move(name), a_queue("new"), change, std::move(field), std::move(says));
}

broken_rule bad_budget(std::string name, const std::function<void(disruption_budget&)>& change,
                       std::string field, std::string says) {
  return changed<disruption_budget>(std::move(name), a_budget("new"), change, std::move(field),
                                    std::move(says));
}

broken_rule bad_placement(std::string name, const std::function<void(placement&)>& change,
                          std::string field, std::string says) {
  return changed<placement>(std::move(name), a_placement("new", "web"), change, std::move(field),
                            std::move(says));
}

INSTANTIATE_TEST_SUITE_P(
  names, refused,
  testing::Values(
    bad_workload(
      "empty", [](auto& w) { w.name = ""; }, "metadata.name", "is ''"),
    bad_workload(
      "upper_case", [](auto& w) { w.name = "Train"; }, "metadata.name", "'Train'"),
    bad_workload(
      "dash_at_the_end", [](auto& w) { w.name = "a-"; }, "metadata.name", "'a-'"),
    bad_workload(
      "dot", [](auto& w) { w.name = "a.b"; }, "metadata.name", "a-z, 0-9"),
    bad_workload(
      "too_long", [](auto& w) { w.name = std::string(64, 'a'); }, "metadata.name", "1 to 63"),
    bad_workload(
      "control_character", [](auto& w) { w.name = "a\nb"; }, "metadata.name", "'a?b'"),
    bad_node(
      "node", [](auto& n) { n.name = "host..example"; }, "metadata.name", "DNS name"),
    bad_node(
      "node_too_long",
      [](auto& n) {
        for (n.name = "aa"; n.name.size() < 254;)
          n.name += ".a";
      },
      "metadata.name", "at most 253"),
    bad_queue(
      "queue", [](auto& q) { q.name = "a_b"; }, "metadata.name", "'a_b'"),
    bad_resource_group(
      "resource_group", [](auto& g) { g.name = "-a"; }, "metadata.name", "'-a'"),
    changed<priority_class>(
      "priority_class", a_class("x", 1), [](auto& c) { c.name = "ä"; }, "metadata.name", "'ä'"),
    bad_budget(
      "budget", [](auto& b) { b.name = "a/b"; }, "metadata.name", "'a/b'"),
    bad_placement(
      "placement", [](auto& p) { p.name = "A"; }, "metadata.name", "'A'"),
    bad_pod_group(
      "pod_group", [](auto& g) { g.name = "Workers"; }, "name", "'Workers'"),
    bad_node(
      "label_key", [](auto& n) { n.labels[".zone"] = "a"; }, "metadata.labels", "'.zone'"),
    bad_node(
      "label_key_prefix", [](auto& n) { n.labels["Example.com/zone"] = "a"; }, "metadata.labels",
      "optional DNS name"),
    bad_node(
      "label_key_of_three_parts", [](auto& n) { n.labels["a/b/c"] = "a"; }, "metadata.labels",
      "'a/b/c'"),
    bad_node(
      "label_value", [](auto& n) { n.labels["zone"] = "a b"; }, "metadata.labels.zone", "'a b'"),
    bad_node(
      "label_value_too_long", [](auto& n) { n.labels["zone"] = std::string(64, 'a'); },
      "metadata.labels.zone", "at most 63"),
    bad_node(
      "resource", [](auto& n) { n.capacity["my gpu"] = 1; }, "spec.capacity", "'my gpu'")),
  case_name);

INSTANTIATE_TEST_SUITE_P(
  nodes, refused,
  testing::Values(
    bad_node(
      "unknown_group", [](auto& n) { n.resource_group = "gone"; }, "spec.resourceGroup",
      "no resource group of that name"),
    bad_node(
      "moved", [](auto& n) { n = a_node("n1", "capped"); }, "spec.resourceGroup",
      "is in 'default'"),
    bad_node(
      "negative_capacity", [](auto& n) { n.capacity["gpu"] = -1; }, "spec.capacity.gpu", "is -1"),
    bad_node(
      "too_much_capacity", [](auto& n) { n.capacity["disk"] = huge; }, "spec.capacity.disk",
      "at most"),
    bad_node(
      "taint_key", [](auto& n) { n.taints.push_back({}); }, "spec.taints[0].key", "''"),
    bad_node(
      "taint_value",
      [](auto& n) {
        n.taints.push_back({"a", "b c", taint_effect::no_execute});
      },
      "spec.taints[0].value", "'b c'")),
  case_name);

INSTANTIATE_TEST_SUITE_P(
  classes, refused,
  testing::Values(
    broken_rule{"above_the_users_scale",
                {a_class("x", highest_user_priority + 1)},
                "value",
                "at most 1000000000"},
    broken_rule{"changed_value", {a_class("low", 11)}, "value", "was 10"},
    broken_rule{"changed_policy",
                {a_class("low", 10, false, preemption_policy::never)},
                "preemptionPolicy",
                "was PreemptLowerPriority"},
    broken_rule{
      "changed_system_class", {a_class("system-node-critical", 5)}, "metadata.name", "built in"},
    broken_rule{"new_system_class", {a_class("system-mine", 5)}, "metadata.name", "system-"}),
  case_name);

INSTANTIATE_TEST_SUITE_P(
  queues, refused,
  testing::Values(
    bad_queue(
      "unknown_parent", [](auto& q) { q.parent = "gone"; }, "spec.parent", "leave the parent out"),
    bad_queue(
      "own_parent", [](auto& q) { q.parent = "new"; }, "spec.parent", "new -> new"),
    broken_rule{"cycle_with_what_exists",
                {with<queue>(a_limited_queue("research", 8), [](auto& q) { q.parent = "vision"; })},
                "spec.parent",
                "research -> vision -> research"},
    bad_queue(
      "no_weight", [](auto& q) { q.weight = 0; }, "spec.weight", "is 0"),
    bad_queue(
      "too_much_weight", [](auto& q) { q.weight = 1'000'001; }, "spec.weight", "1 to 1000000"),
    bad_queue(
      "negative_guaranteed", [](auto& q) { q.guaranteed["cpu"] = -5; }, "spec.guaranteed.cpu",
      "is -5"),
    bad_queue(
      "negative_limit", [](auto& q) { q.limit["cpu"] = -5; }, "spec.limit.cpu", "is -5"),
    bad_queue(
      "guaranteed_above_limit",
      [](auto& q) {
        q.guaranteed["gpu"] = 3 * one_gpu;
        q.limit["gpu"] = 2 * one_gpu;
      },
      "spec.guaranteed.gpu", "limit, 2"),
    broken_rule{"guaranteed_above_parents_limit",
                {a_queue("speech", "research", 4)},
                "spec.guaranteed.gpu",
                "under 'research' are guaranteed 9 in all"},
    broken_rule{"limit_below_childrens_guaranteed",
                {a_queue("speech", "research", 1), a_limited_queue("research", 5)},
                "spec.limit.gpu",
                "at least 6"}),
  case_name);

INSTANTIATE_TEST_SUITE_P(
  resource_groups, refused,
  testing::Values(
    bad_resource_group(
      "preemptible_priority_off_the_scale",
      [](auto& g) {
        g.policy = group_policy::sessions;
        g.preemptible_priority = 101;
      },
      "spec.preemptiblePriority", "0 to 100"),
    bad_resource_group(
      "negative_delay", [](auto& g) { g.required_node.preemption_start_delay = seconds{-1}; },
      "spec.requiredNode.preemptionStartDelay", "must not be negative"),
    bad_resource_group(
      "endless_delay", [](auto& g) { g.force_delete_after = hours{24 * 365 * 11}; },
      "spec.forceDeleteAfter", "at most"),
    bad_resource_group(
      "negative_silence", [](auto& g) { g.heartbeat_timeout = seconds{-1}; },
      "spec.heartbeatTimeout", "must not be negative"),
    bad_resource_group(
      "no_strategy", [](auto& g) { g.required_node.strategies.clear(); },
      "spec.requiredNode.preemptionVictimPodsSelectionStrategy", "is empty"),
    bad_resource_group(
      "same_strategy_twice",
      [](auto& g) {
        g.required_node.strategies = {victim_strategy::single, victim_strategy::multiple,
                                      victim_strategy::single};
      },
      "spec.requiredNode.preemptionVictimPodsSelectionStrategy", "twice"),
    bad_resource_group(
      "negative_deviation", [](auto& g) { g.required_node.deviation_percent = -1; },
      "spec.requiredNode.deviationPercent", "at least 0"),
    bad_resource_group(
      "no_victims", [](auto& g) { g.required_node.max_victims = 0; },
      "spec.requiredNode.maxVictims", "at least 1"),
    bad_resource_group(
      "negative_gap", [](auto& g) { g.preemption_priority_gap = -1; }, "spec.preemptionPriorityGap",
      "is -1"),
    bad_resource_group(
      "negative_minimum_runtime", [](auto& g) { g.limits.minimum_runtime = seconds{-1}; },
      "spec.guards.minimumRuntime", "must not be negative"),
    bad_resource_group(
      "negative_victims", [](auto& g) { g.limits.victims_per_decision = -1; },
      "spec.guards.victimsPerDecision", "is -1"),
    bad_resource_group(
      "negative_preemptions", [](auto& g) { g.limits.preemptions_per_workload_per_hour = -2; },
      "spec.guards.preemptionsPerWorkloadPerHour", "is -2"),
    bad_resource_group(
      "no_search", [](auto& g) { g.limits.search_budget = 0; }, "spec.guards.searchBudget",
      "at least 1")),
  case_name);

INSTANTIATE_TEST_SUITE_P(
  others, refused,
  testing::Values(
    bad_budget(
      "budget_of_an_unknown_group", [](auto& b) { b.resource_group = "gone"; },
      "spec.resourceGroup", "'gone'"),
    bad_budget(
      "budget_without_a_bound", [](auto& b) { b.min_available.reset(); }, "spec.minAvailable",
      "both missing"),
    bad_budget(
      "budget_with_both_bounds", [](auto& b) { b.max_unavailable = 1; }, "spec.minAvailable",
      "both given"),
    bad_budget(
      "negative_min_available", [](auto& b) { b.min_available = -1; }, "spec.minAvailable",
      "is -1"),
    bad_budget(
      "negative_max_unavailable",
      [](auto& b) {
        b.min_available.reset();
        b.max_unavailable = -1;
      },
      "spec.maxUnavailable", "is -1"),
    bad_budget(
      "budget_for_all_pods", [](auto& b) { b.match_labels.clear(); }, "spec.selector.matchLabels",
      "at least one label"),
    bad_budget(
      "budget_label", [](auto& b) { b.match_labels["app"] = "a b"; },
      "spec.selector.matchLabels.app", "'a b'"),
    bad_placement(
      "unknown_deployment", [](auto& p) { p.deployment = "gone"; }, "spec.deployment",
      "no workload of that name"),
    bad_placement(
      "placement_of_batch_work", [](auto& p) { p.deployment = "train"; }, "spec.deployment",
      "must be a deployment"),
    bad_placement(
      "unknown_cluster", [](auto& p) { p.cluster = "gone"; }, "spec.cluster", "'gone'"),
    bad_placement(
      "negative_committed", [](auto& p) { p.committed = -1; }, "spec.committed", "at least 0"),
    bad_placement(
      "negative_assigned", [](auto& p) { p.assigned = -1; }, "spec.assigned", "at least 0"),
    broken_rule{"pod", {pod{}}, "kind", "submit a Workload"},
    broken_rule{"same_object_twice",
                {a_node("new"), a_queue("new"), a_node("new")},
                "metadata.name",
                "earlier Node of the batch"}),
  case_name);

} // namespace

} // namespace reprieve::admission_tests
