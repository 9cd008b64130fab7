#include "protocol/manifest/manifest_reader.hpp"
#include "protocol/manifest/manifest_writer.hpp"
#include "tests/support/generators.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <ostream>
#include <string>
#include <utility>
#include <variant>

namespace reprieve {

/// Lets RapidCheck print a counterexample.
void showValue(const object& shown, std::ostream& out) {
  out << write_yaml(shown);
}

namespace {

using testing::EndsWith;

constexpr manifest_options snapshot{.snapshot = true};

template <class T>
T called(std::string name) {
  T made;
  made.name = std::move(name);
  return made;
}

TEST(manifest_writer, leaves_defaults_out_and_quotes_what_yaml_would_misread) {
  auto n = called<node>("n1");
  n.labels = {{"a", "yes"}, {"b", "1e3"}, {"c", "plain"}, {"d", ""}, {"e", "x: y"}, {"f", "-"}};
  n.capacity = {{"gpu", 8'000}, {"memory", 1LL << 30}};
  n.schedulable = false;
  EXPECT_EQ(write_yaml(n), R"(apiVersion: reprieve/v1
kind: Node
metadata:
  name: n1
  labels:
    a: "yes"
    b: "1e3"
    c: plain
    d: ""
    e: "x: y"
    f: "-"
spec:
  capacity:
    gpu: "8"
    memory: 1Gi
  unschedulable: true
)");
}

TEST(manifest_writer, writes_indented_json) {
  EXPECT_EQ(write_json(priority_class{.name = "a\"b", .value = 5}), R"({
  "apiVersion": "reprieve/v1",
  "kind": "PriorityClass",
  "metadata": {
    "name": "a\"b"
  },
  "value": 5
}
)");
}

TEST(manifest_writer, replaces_bytes_that_are_not_utf8) {
  const auto back = read_manifests(write_json(called<queue>("a\xFFz")), "made.json");
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(name_of(back->at(0).value), "a\uFFFDz");
}

/// What the model allows and a manifest does not: an object without a name.
object named(object o) {
  std::visit(
    [](auto& value) {
      if (value.name.empty())
        value.name = "unnamed";
    },
    o);
  return o;
}

RC_GTEST_PROP(manifest_writer, writes_yaml_that_reads_back_to_the_same_object, ()) {
  const auto o = named(*rc::gen::arbitrary<object>());
  const auto back = read_manifests(write_yaml(o), "made.yaml", snapshot);
  RC_ASSERT(back.ok());
  RC_ASSERT(back->size() == 1U);
  RC_ASSERT(back->front().value == o);
}

RC_GTEST_PROP(manifest_writer, writes_json_that_reads_back_to_the_same_object, ()) {
  const auto o = named(*rc::gen::arbitrary<object>());
  const auto back = read_manifests(write_json(o), "made.json", snapshot);
  RC_ASSERT(back.ok());
  RC_ASSERT(back->size() == 1U);
  RC_ASSERT(back->front().value == o);
}

RC_GTEST_PROP(manifest_writer, adds_a_status_that_does_not_disturb_reading,
              (const workload_status& ws, const queue_status& qs, const node_status& ns)) {
  const auto n = *rc::gen::map(rc::gen::arbitrary<node>(), named);
  RC_ASSERT(read_manifests(write_yaml(std::get<node>(n), ns), "n.yaml").value()[0].value == n);
  RC_ASSERT(read_manifests(write_json(std::get<node>(n), ns), "n.json").value()[0].value == n);
  const auto w = *rc::gen::map(rc::gen::arbitrary<workload>(), named);
  const auto q = *rc::gen::map(rc::gen::arbitrary<queue>(), named);
  RC_ASSERT(read_manifests(write_yaml(std::get<workload>(w), ws), "w.yaml").value()[0].value == w);
  RC_ASSERT(read_manifests(write_json(std::get<workload>(w), ws), "w.json").value()[0].value == w);
  RC_ASSERT(read_manifests(write_yaml(std::get<queue>(q), qs), "q.yaml").value()[0].value == q);
  RC_ASSERT(read_manifests(write_json(std::get<queue>(q), qs), "q.json").value()[0].value == q);
}

template <class Object>
void expect_status_back(const object_status& status) {
  const auto o = *rc::gen::map(rc::gen::arbitrary<Object>(), named);
  for (const auto& written : {write_yaml(o, status), write_json(o, status)}) {
    const auto back = read_manifests(written, "made", snapshot);
    RC_ASSERT(back.ok());
    RC_ASSERT(back->size() == 1U);
    RC_ASSERT(back->front().value == o);
    RC_ASSERT(back->front().status == status);
  }
}

RC_GTEST_PROP(manifest_writer, writes_a_status_that_reads_back_in_a_snapshot,
              (const workload_course& of_workload, const node_status& of_node,
               const queue_status& of_queue, const group_status& of_group)) {
  expect_status_back<node>(of_node);
  expect_status_back<queue>(of_queue);
  expect_status_back<workload>(of_workload);
  expect_status_back<resource_group>(of_group);
}

TEST(manifest_writer, tells_known_grants_of_nothing_from_grants_that_are_not_known) {
  group_status known;
  known.grants.emplace();
  const auto back = read_manifests(write_yaml(called<resource_group>("g"), known), "g", snapshot);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(std::get<group_status>(back->front().status), known);
}

TEST(manifest_writer, writes_what_open_decisions_hold_under_their_group) {
  group_status status;
  status.grants = {{"a", {{"gpu", 2000}}}};
  status.decisions = {{.id = "d1",
                       .phase = decision_phase::committed,
                       .told = true,
                       .workloads = {"new"},
                       .places = {{"new-0", "n1"}},
                       .victims = {{"old-0", "n1"}}}};
  status.reservations = {{"daemon-0", "n2", no_time + std::chrono::seconds{1}}};
  EXPECT_THAT(write_yaml(called<resource_group>("g"), status), EndsWith(R"(
status:
  grants:
    a:
      gpu: "2"
  decisions:
    - id: d1
      phase: Committed
      told: true
      workloads:
        - new
      places:
        - uid: new-0
          node: n1
      victims:
        - uid: old-0
          node: n1
  reservations:
    - uid: daemon-0
      node: n2
      since: "1970-01-01T00:00:01Z"
)"));
}

TEST(manifest_reader, says_what_the_manifest_of_a_pod_gave) {
  const auto read = read_manifests(R"(
kind: List
items:
  - kind: Pod
    metadata: {name: a}
    spec: {gracePeriod: 30s, daemon: false, preemptionPriority: 0}
  - kind: Pod
    metadata: {name: b}
    spec: {minimumRuntime: 1m, disruptionMode: Pod, checkpointTimeNeeded: 0s}
  - kind: Node
    metadata: {name: n}
)",
                                   "pods.yaml", snapshot);
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_EQ(read->size(), 3U);
  EXPECT_EQ(
    (*read)[0].given,
    (pod_manifest_fields{.preemption_priority = true, .daemon = true, .grace_period = true}));
  EXPECT_EQ(
    (*read)[1].given,
    (pod_manifest_fields{.disruption = true, .minimum_runtime = true, .checkpoint_time = true}));
  EXPECT_EQ((*read)[2].given, pod_manifest_fields{});
}

TEST(manifest_writer, shows_the_resolved_priorities_in_the_status) {
  workload_status status;
  status.uid = "u";
  status.generation = 2;
  status.resolved = {.priority = 5, .preemption_priority = 9};
  EXPECT_THAT(write_yaml(called<workload>("w"), status), EndsWith(R"(
status:
  uid: u
  generation: 2
  resolved:
    priority: 5
    preemptionPriority: 9
    mayPreempt: true
  attempts: 0
)"));
}

} // namespace
} // namespace reprieve
