#include "preemption/problem/preemptor.hpp"

#include <gtest/gtest.h>

namespace reprieve::tests {

namespace {

struct given_workload {
  workload spec;
  workload_status status;
};

given_workload two_groups() {
  given_workload given;
  given.spec.name = "train";
  given.spec.groups.resize(2);
  given.spec.groups[0].name = "leader";
  given.spec.groups[1].name = "worker";
  given.status.uid = "w7";
  given.status.by_group = {{10, 20, true}, {10, 30, true}};
  return given;
}

} // namespace

TEST(pod_at, is_named_after_its_place_and_numbered_by_incarnation) {
  const auto given = two_groups();

  const auto made = pod_at(given.spec, given.status, 1, 2, 3, 4);

  EXPECT_EQ(made.name, "train-worker-2-3");
  EXPECT_EQ(made.uid, "train-worker-2-3.w7.4");
  EXPECT_EQ(made.workload, "train");
  EXPECT_EQ(made.group, "worker");
  EXPECT_EQ(made.replica, 2);
  EXPECT_EQ(made.index, 3);
  EXPECT_EQ(made.incarnation, 4u);
}

TEST(pod_at, has_the_preemption_priority_of_its_group) {
  const auto given = two_groups();

  EXPECT_EQ(pod_at(given.spec, given.status, 0, 0, 0, 0).priority, 20);
  EXPECT_EQ(pod_at(given.spec, given.status, 1, 0, 0, 0).priority, 30);
}

TEST(pod_at, takes_what_the_template_says) {
  auto given = two_groups();
  auto& group = given.spec.groups[0];
  group.pods.requests = {{"gpu", 8000}};
  group.pods.labels = {{"app", "x"}};
  group.pods.annotations = {{"reprieve/owner", "parent-uid"}};
  group.disruption = disruption_mode::pod_group;

  const auto made = pod_at(given.spec, given.status, 0, 0, 0, 0);

  EXPECT_EQ(made.requests, group.pods.requests);
  EXPECT_EQ(made.labels, group.pods.labels);
  EXPECT_EQ(made.owner, "parent-uid");
  EXPECT_EQ(made.disruption, disruption_mode::pod_group);
  EXPECT_FALSE(made.opted_out);
  EXPECT_FALSE(made.daemon);
}

TEST(pod_at, goes_by_itself_unless_its_group_goes_whole) {
  auto given = two_groups();
  given.spec.groups[1].disruption = disruption_mode::pod_group;

  const auto alone = pod_at(given.spec, given.status, 0, 0, 3, 0);
  const auto whole = pod_at(given.spec, given.status, 1, 2, 3, 0);

  EXPECT_EQ(to_string(portion_of(alone)), "train/leader/0/3");
  EXPECT_EQ(to_string(portion_of(whole)), "train/worker/2");
}

TEST(pod_at, opts_out_by_label_and_only_by_the_word_false) {
  auto given = two_groups();
  given.spec.groups[0].pods.labels = {{"reprieve/allow-preemption", "false"}};
  given.spec.groups[1].pods.labels = {{"reprieve/allow-preemption", "true"}};

  EXPECT_TRUE(pod_at(given.spec, given.status, 0, 0, 0, 0).opted_out);
  EXPECT_FALSE(pod_at(given.spec, given.status, 1, 0, 0, 0).opted_out);
}

TEST(pod_at, opts_out_by_the_label_that_yunikorn_knows) {
  auto given = two_groups();
  given.spec.groups[0].pods.labels = {{"yunikorn.apache.org/allow-preemption", "false"}};
  given.spec.groups[1].pods.labels = {{"yunikorn.apache.org/allow-preemption", "true"}};

  EXPECT_TRUE(pod_at(given.spec, given.status, 0, 0, 0, 0).opted_out);
  EXPECT_FALSE(pod_at(given.spec, given.status, 1, 0, 0, 0).opted_out);
}

TEST(pod_at, with_a_required_node_is_no_daemon_by_that) {
  auto given = two_groups();
  given.spec.groups[0].required_node = "n1";

  EXPECT_FALSE(pod_at(given.spec, given.status, 0, 0, 0, 0).daemon);
}

TEST(pod_at, of_a_workload_of_kind_daemon_is_a_daemon_whatever_node_it_asks_for) {
  auto given = two_groups();
  given.spec.kind = workload_kind::daemon;

  EXPECT_TRUE(pod_at(given.spec, given.status, 0, 0, 0, 0).daemon);
}

TEST(pod_at, is_protected_where_its_index_is_named) {
  auto given = two_groups();
  given.spec.groups[0].protected_members = {0, 2};

  EXPECT_TRUE(pod_at(given.spec, given.status, 0, 0, 2, 0).protected_member);
  EXPECT_FALSE(pod_at(given.spec, given.status, 0, 0, 1, 0).protected_member);
}

TEST(pod_at, gets_time_for_a_checkpoint_only_where_they_are_supported) {
  auto given = two_groups();
  given.spec.checkpoint.time_needed = std::chrono::seconds{7};
  given.spec.grace_period = std::chrono::seconds{9};

  const auto without = pod_at(given.spec, given.status, 0, 0, 0, 0);
  given.spec.checkpoint.supported = true;
  const auto with = pod_at(given.spec, given.status, 0, 0, 0, 0);

  EXPECT_EQ(without.checkpoint_time, duration{0});
  EXPECT_EQ(with.checkpoint_time, std::chrono::seconds{7});
  EXPECT_EQ(with.grace_period, std::chrono::seconds{9});
}

TEST(follow, brings_a_running_pod_to_what_its_workload_says_by_now) {
  using namespace std::chrono_literals;
  auto given = two_groups();
  auto runs = pod_at(given.spec, given.status, 1, 0, 0, 0);
  runs.node = "n1";
  runs.phase = pod_phase::running;
  auto expected = runs;

  given.status.by_group[1].preemption_priority = 12;
  given.spec.checkpoint.last = time_point{5h};
  given.spec.minimum_runtime = 7min;
  follow(runs, given.spec, given.status);

  expected.priority = 12;
  expected.checkpointed = time_point{5h};
  expected.minimum_runtime = 7min;
  EXPECT_EQ(runs, expected) << "and nothing else";
}

TEST(follow, keeps_a_later_checkpoint_that_the_pod_itself_told_of) {
  using namespace std::chrono_literals;
  auto given = two_groups();
  auto runs = pod_at(given.spec, given.status, 1, 0, 0, 0);
  runs.checkpointed = time_point{6h};
  given.spec.checkpoint.last = time_point{5h};

  follow(runs, given.spec, given.status);

  EXPECT_EQ(runs.checkpointed, time_point{6h});
}

TEST(follow, leaves_a_pod_of_a_group_that_is_not_there_as_it_is) {
  auto given = two_groups();
  auto stray = pod_at(given.spec, given.status, 1, 0, 0, 0);
  stray.group = "gone";
  const auto before = stray;
  given.status.by_group[0].preemption_priority = given.status.by_group[1].preemption_priority = 1;

  follow(stray, given.spec, given.status);

  EXPECT_EQ(stray, before);
}

} // namespace reprieve::tests
