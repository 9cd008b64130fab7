#include "preemption/snapshot/snapshot.hpp"
#include "tests/engine/worlds/plan_reading.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace reprieve::tests {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

namespace {

node a_node(const std::string& name, const std::string& group = "default") {
  node n;
  n.name = name;
  n.resource_group = group;
  n.capacity = {{"gpu", 8000}};
  return n;
}

resource_group a_group(const std::string& name) {
  resource_group group;
  group.name = name;
  return group;
}

/// Two pods of four GPUs.
workload train() {
  workload w;
  w.name = "train";
  w.priority = 3;
  auto& group = w.groups.emplace_back();
  group.name = "workers";
  group.count = 2;
  group.pods.requests = {{"gpu", 4000}};
  return w;
}

pod running(const std::string& name, std::int32_t index = 0) {
  pod p;
  p.name = name;
  p.workload = "train";
  p.group = "workers";
  p.index = index;
  p.node = "n1";
  p.phase = pod_phase::running;
  return p;
}

/// A pod of no workload that is described.
pod alone(const std::string& name) {
  auto p = running(name);
  p.workload = name;
  p.requests = {{"gpu", 1000}};
  return p;
}

std::string refusal_of(std::vector<object> objects) {
  objects.emplace_back(a_node("n1"));
  const auto taken = snapshot::of(std::move(objects));
  return taken.ok() ? "taken" : std::string(taken.status().message());
}

} // namespace

TEST(snapshot_checks, two_pods_at_one_place_are_refused) {
  EXPECT_THAT(refusal_of({train(), running("a", 1), running("b", 1)}),
              AllOf(HasSubstr("Pod 'b'"), HasSubstr("pod 'a'"), HasSubstr("own spec.index")));
  auto other = alone("a");
  other.name = "b";
  EXPECT_THAT(refusal_of({alone("a"), other}), HasSubstr("pod 'a'")) << "described or not";
}

TEST(snapshot_checks, a_pod_may_stand_at_the_place_of_one_that_leaves) {
  auto told = running("a", 1);
  told.phase = pod_phase::terminating;
  auto chosen = running("b", 1);
  chosen.evicted_by = "d1";
  EXPECT_EQ(refusal_of({train(), told, chosen, running("c", 1)}), "taken");
}

TEST(snapshot_checks, a_group_that_the_workload_does_not_have_is_refused) {
  auto stray = running("a");
  stray.group = "leader";
  EXPECT_EQ(refusal_of({train(), stray}), "Pod 'a': spec.group is leader, and workload train has "
                                          "no such group; it has workers");
}

TEST(snapshot_checks, places_beyond_the_size_of_the_group_are_refused) {
  EXPECT_THAT(refusal_of({train(), running("a", 2)}), HasSubstr("spec.index is 2"));
  auto other = running("a");
  other.replica = 1;
  EXPECT_THAT(refusal_of({train(), other}), HasSubstr("spec.replica is 1"));
}

TEST(snapshot_checks, what_leaves_may_be_left_from_a_larger_workload) {
  auto leaves = running("a", 2);
  leaves.phase = pod_phase::terminating;
  auto surplus = running("b", 3);
  surplus.phase = pod_phase::surplus;
  EXPECT_EQ(refusal_of({train(), leaves, surplus}), "taken");
}

TEST(snapshot_checks, places_below_zero_are_refused) {
  auto p = alone("a");
  p.index = -1;
  EXPECT_THAT(refusal_of({p}), HasSubstr("Pod 'a': spec.index is -1; it must be at least 0"));
  p.index = 0;
  p.replica = -3;
  EXPECT_THAT(refusal_of({p}), HasSubstr("spec.replica is -3"));
}

TEST(snapshot_checks, a_name_close_to_that_of_a_workload_is_taken_for_a_slip) {
  auto p = alone("a");
  p.workload = "trian";
  EXPECT_EQ(refusal_of({train(), p}),
            "Pod 'a': spec.workload is trian, and there is no such workload; did you mean train? "
            "If not, describe trian too");
}

TEST(snapshot_checks, other_names_of_workloads_that_are_not_described_are_taken) {
  auto far = alone("a");
  far.workload = "crawler";
  auto numbered = train();
  numbered.name = "job-1";
  auto next = alone("b");
  next.workload = "job-2";
  EXPECT_EQ(refusal_of({train(), numbered, far, next}), "taken");
  EXPECT_EQ(refusal_of({train(), alone("trains")}), "taken") << "a pod by its own name";
}

TEST(snapshot_checks, a_preemption_priority_below_the_priority_is_refused) {
  auto p = alone("a");
  p.own_priority = 5;
  p.priority = 3;
  EXPECT_EQ(refusal_of({p}),
            "Pod 'a': spec.preemptionPriority is 3, below spec.priority, 5; it must not be");
}

TEST(snapshot_checks, a_preemption_priority_of_zero_that_was_given_is_not_taken_for_none) {
  auto p = alone("a");
  p.own_priority = 5;
  const auto given = snapshot::of(
    std::vector<snapshot::entry>{{a_node("n1"), {}}, {p, {}, {.preemption_priority = true}}});
  EXPECT_THAT(std::string(given.status().message()), HasSubstr("spec.preemptionPriority is 0"));

  p.own_priority = -5;
  const auto above = snapshot::of(
    std::vector<snapshot::entry>{{a_node("n1"), {}}, {p, {}, {.preemption_priority = true}}});
  ASSERT_TRUE(above.ok()) << above.status();
  EXPECT_EQ(above->pods().front().priority, 0);

  const auto left_out = snapshot::of({a_node("n1"), p});
  ASSERT_TRUE(left_out.ok()) << left_out.status();
  EXPECT_EQ(left_out->pods().front().priority, -5);
}

TEST(snapshot_checks, a_pod_of_a_workload_may_say_any_priority) {
  auto p = running("a");
  p.own_priority = 50;
  EXPECT_EQ(refusal_of({train(), p}), "taken") << "the workload's counts";
}

TEST(snapshot_checks, a_node_of_another_resource_group_is_refused) {
  auto p = running("a");
  p.node = "x1";
  EXPECT_THAT(refusal_of({a_group("x"), a_node("x1", "x"), train(), p}),
              AllOf(HasSubstr("spec.nodeName is x1, a node of resource group x"),
                    HasSubstr("workload train is in default")));
}

TEST(snapshot_checks, a_deployment_may_have_pods_wherever_it_has_a_placement) {
  auto deployment = train();
  deployment.kind = workload_kind::deployment;
  placement share;
  share.name = "train-x";
  share.deployment = "train";
  share.cluster = "x";
  auto p = running("a");
  p.node = "x1";
  EXPECT_EQ(refusal_of({a_group("x"), a_node("x1", "x"), deployment, share, p}), "taken");
  EXPECT_THAT(refusal_of({a_group("x"), a_node("x1", "x"), deployment, p}),
              HasSubstr("a node of resource group x"));
}

TEST(snapshot_checks, two_placements_of_a_deployment_in_one_cluster_are_refused) {
  auto deployment = train();
  deployment.kind = workload_kind::deployment;
  placement one;
  one.name = "one";
  one.deployment = "train";
  one.cluster = "default";
  auto two = one;
  two.name = "two";
  EXPECT_EQ(refusal_of({deployment, one, two}),
            "Placement 'two': deployment train has placement 'one' in cluster default already; it "
            "may have one in each");
}

TEST(snapshot_checks, requests_beyond_what_nodes_may_have_are_refused) {
  auto p = alone("a");
  p.requests["memory"] = (std::int64_t{1} << 53U) + 1;
  EXPECT_THAT(refusal_of({p}), HasSubstr("Pod 'a': spec.requests.memory is"));
  p.requests["memory"] = -1;
  EXPECT_THAT(refusal_of({p}), HasSubstr("must not be negative"));
}

TEST(snapshot_checks, what_the_manifest_of_a_pod_gave_wins_over_its_workload) {
  using namespace std::chrono_literals;
  auto w = train();
  w.grace_period = 9min;
  w.minimum_runtime = 8min;
  w.checkpoint = {.supported = true, .time_needed = 7min};
  w.groups[0].min_count = 2;
  w.groups[0].disruption = disruption_mode::pod_group;
  auto p = running("a");
  p.daemon = true;
  p.grace_period = 30s; // as by default
  p.minimum_runtime = 0s;
  p.checkpoint_time = 1min;
  p.disruption = disruption_mode::pod;
  const pod_manifest_fields all{.disruption = true,
                                .daemon = true,
                                .minimum_runtime = true,
                                .grace_period = true,
                                .checkpoint_time = true};

  const auto taken = snapshot::of(
    std::vector<snapshot::entry>{{a_node("n1"), {}}, {w, {}}, {p, {}, all}, {running("b", 1), {}}});
  ASSERT_TRUE(taken.ok()) << taken.status();

  const auto& gave = taken->pods().front();
  EXPECT_TRUE(gave.daemon);
  EXPECT_EQ(gave.grace_period, 30s);
  EXPECT_EQ(gave.minimum_runtime, 0s);
  EXPECT_EQ(gave.checkpoint_time, 1min);
  EXPECT_EQ(gave.disruption, disruption_mode::pod);
  const auto& other = taken->pods().back();
  EXPECT_FALSE(other.daemon);
  EXPECT_EQ(other.grace_period, 9min);
  EXPECT_EQ(other.minimum_runtime, 8min);
  EXPECT_EQ(other.checkpoint_time, 7min);
  EXPECT_EQ(other.disruption, disruption_mode::pod_group);
}

TEST(snapshot, has_the_groups_that_have_nodes_or_work) {
  auto waits = train();
  waits.resource_group = "x";
  const auto of_work = snapshot::of({a_group("x"), a_group("idle"), a_node("n1"), waits});
  ASSERT_TRUE(of_work.ok()) << of_work.status();
  EXPECT_THAT(of_work->groups(), ElementsAre("default", "x"));

  auto pending = alone("a");
  pending.phase = pod_phase::pending;
  pending.node.clear();
  const auto of_pods = snapshot::of({a_group("x"), a_node("x1", "x"), pending});
  ASSERT_TRUE(of_pods.ok()) << of_pods.status();
  EXPECT_THAT(of_pods->groups(), ElementsAre("default", "x"));
  EXPECT_EQ(of_pods->pending("default").size(), 1U);
}

} // namespace reprieve::tests
