#include "state/records/record_limits.hpp"
#include "tests/unit/admission/admission_refused.hpp"

#include <fmt/format.h>

// What records have no room for is refused before it is written (docs/manifests.md, "Limits of
// objects").

namespace reprieve::admission_tests {

namespace {

string_map texts(std::size_t count) {
  string_map made;
  for (std::size_t i = 0; i < count; ++i)
    made[fmt::format("key-{}", i)] = "value";
  return made;
}

resources amounts(std::size_t count) {
  resources made;
  for (std::size_t i = 0; i < count; ++i)
    made[fmt::format("example.org/r{}", i)] = 1;
  return made;
}

TEST(admission_of_long_names, repeats_only_their_beginning) {
  auto c = a_cluster();
  const std::string name(20'000, 'x');
  auto n = a_node("n");
  n.capacity[name] = std::int64_t{1} << 60;
  n.labels[name] = "not a value";
  auto w = a_workload("w");
  w.groups[0].pods.requests[name] = std::int64_t{1} << 60;
  const auto refusals = check(std::vector<object>{n, w}, c.known, c.facts);
  EXPECT_EQ(refusals.size(), 3U);
  for (const auto& one : refusals)
    EXPECT_LT(to_string(one).size(), 400U) << to_string(one);
}

INSTANTIATE_TEST_SUITE_P(
  limits, refused,
  testing::Values(
    bad_workload(
      "labels", [](auto& w) { w.labels = texts(65); }, "metadata.labels",
      "has 65 labels; it may have at most 64"),
    bad_pod_group(
      "labels_of_pods", [](auto& g) { g.pods.labels = texts(65); }, "template.metadata.labels",
      "at most 64"),
    bad_pod_group(
      "selector", [](auto& g) { g.pods.node_selector = texts(65); }, "template.spec.nodeSelector",
      "at most 64"),
    bad_pod_group(
      "annotations", [](auto& g) { g.pods.annotations = texts(257); },
      "template.metadata.annotations", "has 257 annotations; it may have at most 256"),
    bad_pod_group(
      "a_long_annotation",
      [](auto& g) { g.pods.annotations["note"] = std::string(2'000'000, 'x'); }, "template",
      "it may take at most 65536, so keep long texts elsewhere"),
    bad_pod_group(
      "tolerations",
      [](auto& g) {
        g.pods.tolerations.resize(65, {"key", true, {}, {}});
      },
      "template.spec.tolerations", "has 65 tolerations; it may have at most 64"),
    bad_pod_group(
      "requests", [](auto& g) { g.pods.requests = amounts(65); }, "template.spec.requests",
      "has 65 resources; it may have at most 64"),
    bad_pod_group(
      "topology", [](auto& g) { g.topology_keys.assign(9, "rack"); }, "topology",
      "has 9 keys; it may have at most 8"),
    bad_pod_group(
      "protected_members",
      [](auto& g) {
        g.count = 5000;
        g.protected_members.assign(4097, 0);
      },
      "protectedMembers", "has 4097 members; it may have at most 4096"),
    bad_workload(
      "groups",
      [](auto& w) {
        const auto first = w.groups.front();
        for (int i = 0; i < 128; ++i) {
          w.groups.push_back(first);
          w.groups.back().name = fmt::format("g{}", i);
        }
      },
      "spec.podGroups", "has 129 groups; it may have at most 128"),
    bad_workload(
      "all_together",
      [](auto& w) {
        const auto first = w.groups.front();
        for (int i = 0; i < 9; ++i) {
          w.groups.push_back(first);
          w.groups.back().name = fmt::format("g{}", i);
          w.groups.back().pods.annotations["note"] = std::string(60'000, 'x');
        }
      },
      "spec", "bytes in a record; it may take at most 524288"),
    changed<node>(
      "labels_of_a_node", a_node("new"), [](auto& n) { n.labels = texts(65); }, "metadata.labels",
      "at most 64"),
    changed<node>(
      "taints", a_node("new"),
      [](auto& n) {
        n.taints.resize(65, {"key", "", {}});
      },
      "spec.taints", "has 65 taints; it may have at most 64"),
    changed<node>(
      "capacity", a_node("new"), [](auto& n) { n.capacity = amounts(65); }, "spec.capacity",
      "has 65 resources; it may have at most 64"),
    changed<queue>(
      "limit_of_a_queue", a_queue("new"), [](auto& q) { q.limit = amounts(65); }, "spec.limit",
      "at most 64"),
    changed<resource_group>(
      "divisible", a_group("pool"), [](auto& g) { g.divisible.assign(65, "gpu"); },
      "spec.divisible", "at most 64"),
    changed<resource_group>(
      "a_long_name_of_a_resource", a_group("pool"),
      [](auto& g) { g.divisible = {std::string(2'000'000, 'x')}; }, "spec.divisible[0]",
      "it must be 1 to 63 letters"),
    changed<resource_group>(
      "remembered_preemptions", a_group("pool"),
      [](auto& g) { g.limits.preemptions_per_workload_per_hour = 1001; },
      "spec.guards.preemptionsPerWorkloadPerHour", "at most 1000, as no more are remembered"),
    changed<disruption_budget>(
      "labels_of_a_budget", a_budget("new"), [](auto& b) { b.match_labels = texts(65); },
      "spec.selector.matchLabels", "at most 64"),
    changed<placement>(
      "nominations", a_placement("new", "web"),
      [](auto& p) {
        p.nominations.assign(10, {"n1", {std::string(60'000, 'x')}});
      },
      "spec.nominations", "they may take at most 500000")),
  case_name);

TEST(limits_of_objects, refuse_nothing_that_is_just_within) {
  const auto c = a_cluster();
  auto w = a_workload("new");
  w.labels = texts(64);
  auto& pods = w.groups[0].pods;
  pods.labels = pods.node_selector = texts(64);
  pods.annotations = {{"note", std::string(55'000, 'x')}};
  pods.tolerations.resize(64, {"key", true, {}, {}});
  w.groups[0].count = 1'000'000;
  w.groups[0].min_count.reset();
  w.groups[0].disruption = disruption_mode::pod;
  w.groups[0].pods.requests = {};
  EXPECT_EQ(check(std::vector<object>{w}, c.known, c.facts), std::vector<refusal>{});
}

TEST(limits_of_objects, count_resource_groups_by_their_shards) {
  struct few_groups : known_facts {
    std::size_t most_resource_groups() const override {
      return 3;
    }
  };
  auto c = a_cluster();
  c.known.groups.clear();
  for (const auto* name : {"a", "b", "c"})
    c.known.groups[name] = a_group(name);
  const few_groups facts;
  const auto changed = check(std::vector<object>{a_group("b")}, c.known, facts);
  EXPECT_EQ(changed, std::vector<refusal>{});
  const auto added = check(std::vector<object>{a_group("d")}, c.known, facts);
  ASSERT_EQ(added.size(), 1U);
  EXPECT_EQ(added[0].message, "metadata.name is one of 4 resource groups; there may be at most 3");
}

TEST(limits_of_objects, leave_room_for_what_groups_are_granted_of_a_queue) {
  auto c = a_cluster();
  for (int i = 0; i < 900; ++i)
    put_in(c.known, a_group(fmt::format("g{}", i)));
  auto q = a_queue("new");
  q.limit = amounts(60);
  const auto refusals = check(std::vector<object>{q}, c.known, c.facts);
  ASSERT_EQ(refusals.size(), 1U);
  EXPECT_EQ(refusals[0].field, "spec.limit");
  EXPECT_NE(refusals[0].message.find("let the queue limit fewer resources"), std::string::npos)
    << refusals[0].message;
  q.limit = amounts(10);
  EXPECT_EQ(check(std::vector<object>{q}, c.known, c.facts), std::vector<refusal>{});
}

} // namespace

} // namespace reprieve::admission_tests
