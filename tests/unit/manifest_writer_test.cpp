#include "protocol/manifest_reader.hpp"
#include "protocol/manifest_writer.hpp"
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

RC_GTEST_PROP(manifest_writer, writes_a_status_that_reads_back_in_a_snapshot,
              (const workload_status& status, const node_status& of_node)) {
  const auto n = std::get<node>(*rc::gen::map(rc::gen::arbitrary<node>(), named));
  const auto node_back = read_manifests(write_json(n, of_node), "n.json", snapshot);
  RC_ASSERT(node_back.ok());
  RC_ASSERT(std::get<node_status>(node_back->front().status) == of_node);
  const auto w = std::get<workload>(*rc::gen::map(rc::gen::arbitrary<workload>(), named));
  const auto back = read_manifests(write_yaml(w, status), "w.yaml", snapshot);
  RC_ASSERT(back.ok());
  RC_ASSERT(std::get<workload_status>(back->front().status) == status);
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
  EXPECT_EQ((*read)[0].given,
            (given_pod_fields{.preemption_priority = true, .daemon = true, .grace_period = true}));
  EXPECT_EQ(
    (*read)[1].given,
    (given_pod_fields{.disruption = true, .minimum_runtime = true, .checkpoint_time = true}));
  EXPECT_EQ((*read)[2].given, given_pod_fields{});
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
