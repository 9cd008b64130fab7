#include "tests/unit/admission/admission_cluster.hpp"

#include <gtest/gtest.h>

// A resource group gets other settings while it holds workloads.

namespace reprieve::admission_tests {

namespace {

/// A group `pool` with one workload, `big`, of priority 1000.
cluster with_big() {
  auto c = a_cluster();
  put_in(c.known, a_group("pool"));
  auto& w = c.facts.workloads["big"] = a_workload("big");
  w.resource_group = "pool";
  w.priority = 1000;
  auto& status = c.facts.statuses["big"];
  status.resolved = {1000, 1000, true};
  status.by_group = {{1000, 1000, true}};
  return c;
}

std::string refusal_in(const cluster& c, const std::vector<object>& batch) {
  std::string all;
  for (const auto& r : check(batch, c.known, c.facts))
    all += to_string(r) + '\n';
  return all;
}

resource_group with_gap(std::optional<std::int32_t> gap) {
  auto g = a_group("pool");
  g.preemption_priority_gap = gap;
  return g;
}

} // namespace

TEST(admission_of_group, does_not_become_one_of_sessions_while_a_priority_is_off_their_scale) {
  EXPECT_EQ(refusal_in(with_big(), {a_group("pool", group_policy::sessions)}),
            "ResourceGroup 'pool': spec.policy is Sessions, but workload 'big' of the group has "
            "the priority 1000; with that policy all must be 0 to 100, so remove what is not, or "
            "leave the policy at WorkloadAware\n");
}

TEST(admission_of_group, says_how_many_workloads_are_in_the_way) {
  auto c = with_big();
  for (const auto* name : {"another", "third"}) {
    c.facts.workloads[name] = c.facts.workloads["big"];
    c.facts.workloads[name].name = name;
    c.facts.statuses[name] = c.facts.statuses["big"];
  }
  const auto refused = refusal_in(c, {a_group("pool", group_policy::sessions)});
  EXPECT_NE(refused.find("workload 'another' of the group has the priority 1000 (and 2 more like "
                         "it)"),
            std::string::npos)
    << refused;
}

TEST(admission_of_group, looks_at_preemption_priorities_and_at_pod_groups_too) {
  auto c = with_big();
  auto& w = c.facts.workloads["big"];
  w.priority = 10;
  w.preemption_priority = 101;
  c.facts.statuses["big"].resolved = {10, 101, true};
  auto refused = refusal_in(c, {a_group("pool", group_policy::sessions)});
  EXPECT_NE(refused.find("has the preemption priority 101"), std::string::npos) << refused;

  w.preemption_priority.reset();
  w.groups[0].priority = -1;
  c.facts.statuses["big"].resolved = {10, 10, true};
  refused = refusal_in(c, {a_group("pool", group_policy::sessions)});
  EXPECT_NE(refused.find("has a pod group, 'workers', of the priority -1"), std::string::npos)
    << refused;
}

TEST(admission_of_group, goes_by_what_was_resolved_and_not_by_the_default_of_today) {
  auto c = with_big();
  c.facts.workloads["big"].priority.reset(); // the global default of another day made it 1000
  EXPECT_NE(refusal_in(c, {a_group("pool", group_policy::sessions)}), "");
  c.facts.statuses["big"].resolved = {100, 100, true};
  c.facts.statuses["big"].by_group = {{100, 100, true}};
  EXPECT_EQ(refusal_in(c, {a_group("pool", group_policy::sessions)}), "");
}

TEST(admission_of_group, may_change_where_its_workloads_go_with_it) {
  auto c = with_big();
  c.facts.workloads["big"].resource_group = "default";
  EXPECT_EQ(refusal_in(c, {a_group("pool", group_policy::sessions)}), "") << "another group's";
  EXPECT_EQ(refusal_in(c, {a_group("fresh", group_policy::sessions)}), "") << "it holds nothing";
}

TEST(admission_of_group, that_had_the_policy_already_may_be_applied_again) {
  auto c = with_big();
  c.known.groups.at("pool").policy = group_policy::sessions;
  auto again = a_group("pool", group_policy::sessions);
  again.preemptible_priority = 7;
  EXPECT_EQ(refusal_in(c, {again}), "");
}

TEST(admission_of_group, does_not_get_a_smaller_gap_than_its_workloads_have) {
  auto c = with_big();
  auto& w = c.facts.workloads["big"];
  w.preemption_priority = 1060;
  c.facts.statuses["big"].resolved = {1000, 1060, true};
  EXPECT_EQ(refusal_in(c, {with_gap(59)}),
            "ResourceGroup 'pool': spec.preemptionPriorityGap is 59, but workload 'big' of the "
            "group has the preemption priority 1060 and the priority 1000; give at least 60, or "
            "lower the preemption priority first\n");
  EXPECT_EQ(refusal_in(c, {with_gap(60)}), "");
  EXPECT_EQ(refusal_in(c, {with_gap({})}), "");

  c.known.groups.at("pool").preemption_priority_gap = 10;
  EXPECT_EQ(refusal_in(c, {with_gap(20)}), "") << "it is larger than before";
}

TEST(admission_of_group, counts_what_the_same_batch_makes_of_its_workloads) {
  auto c = with_big();
  c.facts.workloads["big"].preemption_priority = 1060;
  c.facts.statuses["big"].resolved = {1000, 1060, true};
  auto lowered = c.facts.workloads["big"];
  lowered.preemption_priority = 1005;
  EXPECT_EQ(refusal_in(c, {with_gap(5), lowered}), "");
}

TEST(admission_of_group, does_not_become_one_of_lifecycle_with_deployments_of_several_groups) {
  auto c = with_big();
  auto& w = c.facts.workloads["big"];
  w.kind = workload_kind::deployment;
  EXPECT_EQ(refusal_in(c, {a_group("pool", group_policy::lifecycle)}), "");
  w.groups.push_back(w.groups[0]);
  w.groups[1].name = "more";
  EXPECT_EQ(refusal_in(c, {a_group("pool", group_policy::lifecycle)}),
            "ResourceGroup 'pool': spec.policy is Lifecycle, but workload 'big' of the group is a "
            "deployment with 2 pod groups; with that policy a deployment has exactly one, so "
            "remove what has more, or leave the policy at WorkloadAware\n");
}

} // namespace reprieve::admission_tests
