#include "preemption/snapshot/snapshot.hpp"
#include "tests/engine/worlds/plan_reading.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace reprieve::tests {

using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

namespace {

node a_node(const std::string& name, std::int64_t gpus) {
  node n;
  n.name = name;
  n.resource_group = "default";
  n.capacity = {{"gpu", gpus * 1000}};
  return n;
}

workload a_workload(const std::string& name, std::int32_t priority, std::int32_t count,
                    std::int64_t gpus) {
  workload w;
  w.name = name;
  w.priority = priority;
  auto& group = w.groups.emplace_back();
  group.name = "workers";
  group.count = count;
  group.min_count = count;
  group.disruption = disruption_mode::pod_group;
  group.pods.requests = {{"gpu", gpus * 1000}};
  return w;
}

resource_group a_group(const std::string& name) {
  resource_group group;
  group.name = name;
  return group;
}

pod a_pod(const std::string& workload, std::int32_t index, const std::string& on) {
  pod p;
  p.name = workload + "-" + std::to_string(index);
  p.workload = workload;
  p.group = "workers";
  p.index = index;
  p.node = on;
  p.phase = pod_phase::running;
  return p;
}

} // namespace

TEST(snapshot, work_keeps_its_place_in_the_queue) {
  workload_status later;
  later.submitted = time_point{} + std::chrono::hours{2};
  workload_status earlier;
  earlier.submitted = time_point{} + std::chrono::hours{1};
  const auto taken = snapshot::of(std::vector<snapshot::entry>{
    {a_node("n1", 8), {}}, {a_workload("a", 3, 1, 4), later}, {a_workload("b", 3, 1, 4), earlier}});
  ASSERT_TRUE(taken.ok()) << taken.status();

  const auto waiting = taken->pending("default");

  ASSERT_EQ(waiting.size(), 2U);
  EXPECT_EQ(waiting.front().workload, "b");
}

TEST(snapshot, a_node_that_is_lost_takes_no_pods) {
  const auto taken = snapshot::of(
    std::vector<snapshot::entry>{{a_node("n1", 8), node_status{.watched = true, .lost = true}},
                                 {a_node("n2", 8), node_status{.watched = true, .lost = false}}});
  ASSERT_TRUE(taken.ok()) << taken.status();

  const auto view = taken->view_of("default");

  EXPECT_FALSE(view.usable(view.find_node("n1")));
  EXPECT_TRUE(view.usable(view.find_node("n2")));
}

TEST(snapshot, tells_who_was_preempted_within_the_last_hour) {
  const auto now = time_point{} + std::chrono::hours{9};
  workload_status often;
  often.preempted = {{"d1", now - std::chrono::minutes{50}}, {"d2", now - std::chrono::minutes{5}}};
  workload_status before;
  before.preempted = {{"d0", now - std::chrono::hours{2}}};
  const auto taken = snapshot::of(std::vector<snapshot::entry>{
    {a_node("n1", 8), {}}, {a_workload("a", 3, 1, 4), often}, {a_workload("b", 3, 1, 4), before}});
  ASSERT_TRUE(taken.ok()) << taken.status();

  EXPECT_EQ(taken->recent_preemptions(now), (by_name<std::int32_t>{{"a", 2}}));
}

TEST(snapshot, a_queue_can_not_be_allocated_less_than_nothing) {
  queue q;
  q.name = "research";
  queue_status stood;
  stood.allocated["gpu"] = -1000;

  const auto taken = snapshot::of(std::vector<snapshot::entry>{{q, stood}});

  EXPECT_THAT(std::string(taken.status().message()),
              HasSubstr("Queue 'research': status.allocated.gpu is -1; it must not be negative"));
}

TEST(snapshot, pods_take_from_their_workload_what_they_do_not_say) {
  const auto taken = snapshot::of(
    {a_node("n1", 8), a_workload("old", 3, 2, 4), a_pod("old", 0, "n1"), a_pod("old", 1, "n1")});
  ASSERT_TRUE(taken.ok()) << taken.status();

  const auto& p = taken->pods().front();

  EXPECT_EQ(p.priority, 3);
  EXPECT_EQ(p.requests, (resources{{"gpu", 4000}}));
  EXPECT_EQ(p.disruption, disruption_mode::pod_group);
  EXPECT_EQ(p.uid, "old-0");
}

TEST(snapshot, a_workload_without_pods_waits_and_one_with_all_of_them_does_not) {
  const auto taken = snapshot::of({a_node("n1", 8), a_workload("old", 3, 1, 8),
                                   a_workload("new", 10, 1, 8), a_pod("old", 0, "n1")});
  ASSERT_TRUE(taken.ok()) << taken.status();

  const auto waiting = taken->pending("default");

  ASSERT_EQ(waiting.size(), 1U);
  EXPECT_EQ(waiting.front().workload, "new");
  const auto made = decide(taken->view_of("default"), waiting.front(), open_settings());
  EXPECT_THAT(victims_of(made), UnorderedElementsAre("old"));
}

TEST(snapshot, what_a_plan_does_counts_for_the_next_one) {
  const auto taken =
    snapshot::of({a_node("n1", 8), a_workload("old", 3, 1, 8), a_workload("new", 10, 1, 8),
                  a_workload("next", 9, 1, 8), a_pod("old", 0, "n1")});
  ASSERT_TRUE(taken.ok()) << taken.status();
  auto view = taken->view_of("default");
  const auto waiting = taken->pending("default");
  ASSERT_EQ(waiting.size(), 2U);

  carry_out(decide(view, waiting[0], open_settings()), "first", taken->pods(), view);

  EXPECT_EQ(decide(view, waiting[1], open_settings()).result, plan::outcome::infeasible)
    << "the room is promised to one of higher priority";
}

TEST(snapshot, a_workload_sees_nothing_of_other_resource_groups) {
  auto elsewhere = a_node("n2", 8);
  elsewhere.resource_group = "other";
  auto new_one = a_workload("new", 10, 2, 8);
  const auto taken = snapshot::of({a_group("other"), a_node("n1", 8), elsewhere, new_one});
  ASSERT_TRUE(taken.ok()) << taken.status();

  const auto made =
    decide(taken->view_of("default"), taken->pending("default").front(), open_settings());

  EXPECT_EQ(made.result, plan::outcome::infeasible) << "the other node is free, but of another";
  EXPECT_TRUE(taken->pending("other").empty());
}

namespace {

/// Of a workload of three pods two run; a budget lets one be missing.
std::vector<object> one_of_three_is_missing() {
  auto web = a_workload("web", 1, 3, 8);
  web.groups.front().min_count.reset();
  web.groups.front().disruption = disruption_mode::pod;
  web.groups.front().pods.labels = {{"app", "web"}};
  disruption_budget budget;
  budget.name = "web";
  budget.match_labels = {{"app", "web"}};
  budget.max_unavailable = 1;
  return {a_node("n1", 8), a_node("n2", 8),       web,
          budget,          a_pod("web", 0, "n1"), a_pod("web", 1, "n2")};
}

} // namespace

TEST(snapshot, pods_that_a_workload_wants_and_does_not_have_count_as_missing_in_budgets) {
  const auto taken = snapshot::of(one_of_three_is_missing());
  ASSERT_TRUE(taken.ok()) << taken.status();

  EXPECT_EQ(taken->view_of("default").disruptions_allowed(0), 0);
  EXPECT_EQ(taken->whole_view().disruptions_allowed(0), 0);
}

TEST(snapshot, a_pending_pod_counts_once_as_missing_in_budgets) {
  auto objects = one_of_three_is_missing();
  auto pending = a_pod("web", 2, "");
  pending.phase = pod_phase::pending;
  objects.emplace_back(pending);
  std::get<disruption_budget>(objects[3]).max_unavailable = 2;
  const auto taken = snapshot::of(objects);
  ASSERT_TRUE(taken.ok()) << taken.status();

  EXPECT_EQ(taken->view_of("default").disruptions_allowed(0), 1);
}

TEST(snapshot, a_pending_pod_of_no_workload_counts_as_missing_in_budgets) {
  auto objects = one_of_three_is_missing();
  pod alone;
  alone.name = "alone";
  alone.workload = "something-else";
  alone.labels = {{"app", "web"}};
  objects.emplace_back(alone);
  std::get<disruption_budget>(objects[3]).max_unavailable = 2;
  const auto taken = snapshot::of(objects);
  ASSERT_TRUE(taken.ok()) << taken.status();

  EXPECT_EQ(taken->view_of("default").disruptions_allowed(0), 0);
}

TEST(snapshot, a_pod_that_is_placed_counts_once_in_budgets) {
  auto objects = one_of_three_is_missing();
  objects.emplace_back(a_node("n3", 8));
  std::get<disruption_budget>(objects[3]).max_unavailable = 2;
  const auto taken = snapshot::of(objects);
  ASSERT_TRUE(taken.ok()) << taken.status();
  auto view = taken->view_of("default");
  const auto made = decide(view, taken->pending("default").front(), open_settings());
  ASSERT_EQ(made.result, plan::outcome::placed);

  carry_out(made, "first", taken->pods(), view);

  EXPECT_EQ(view.disruptions_allowed(0), 1) << "it is expected, and does not run yet";
}

TEST(snapshot, what_is_nominated_does_not_wait) {
  auto held = a_pod("new", 0, "n1");
  held.phase = pod_phase::nominated;
  const auto taken = snapshot::of({a_node("n1", 8), a_workload("new", 10, 1, 8), held});
  ASSERT_TRUE(taken.ok()) << taken.status();

  EXPECT_TRUE(taken->pending("default").empty());
}

TEST(snapshot, what_waits_is_served_by_the_priority_of_its_own_pod_group) {
  auto raised = a_workload("raised", 10, 1, 8);
  raised.groups.front().priority = 30;
  auto high = a_workload("high", 20, 1, 8);
  for (const std::string group : {"default", "other"}) {
    raised.resource_group = high.resource_group = group;
    const auto taken = snapshot::of({a_group("other"), raised, high});
    ASSERT_TRUE(taken.ok()) << taken.status();

    const auto waiting = taken->pending(group);

    ASSERT_EQ(waiting.size(), 2U);
    EXPECT_EQ(waiting.front().workload, "raised") << group;
  }
}

TEST(snapshot, what_a_gang_lost_comes_back_where_the_rest_of_it_is) {
  auto in_zone = [](node n, const std::string& zone) {
    n.labels = {{"zone", zone}};
    return n;
  };
  auto degraded = a_workload("serve", 3, 2, 8);
  degraded.groups.front().disruption = disruption_mode::pod;
  degraded.groups.front().topology_keys = {"zone"};
  const auto taken =
    snapshot::of({in_zone(a_node("n1", 8), "a"), in_zone(a_node("n2", 8), "b"),
                  in_zone(a_node("n3", 8), "b"), degraded, a_pod("serve", 0, "n2")});
  ASSERT_TRUE(taken.ok()) << taken.status();

  const auto made =
    decide(taken->view_of("default"), taken->pending("default").front(), open_settings());

  ASSERT_EQ(made.assignments.size(), 1U);
  EXPECT_EQ(made.assignments.front().placed.node, "n3");
}

TEST(snapshot, a_pod_on_a_node_that_is_not_there_is_refused) {
  const auto taken = snapshot::of({a_node("n1", 8), a_pod("old", 0, "n2")});

  ASSERT_FALSE(taken.ok());
  EXPECT_THAT(taken.status().message(), HasSubstr("Pod 'old-0': spec.nodeName is n2"));
}

TEST(snapshot, a_preemptor_that_is_not_in_it_is_named_with_those_that_are) {
  const auto taken = snapshot::of({a_node("n1", 8), a_workload("old", 3, 1, 8)});
  ASSERT_TRUE(taken.ok()) << taken.status();

  const auto group = taken->group_of("other");

  ASSERT_FALSE(group.ok());
  EXPECT_THAT(group.status().message(), HasSubstr("its workloads are old"));
}

} // namespace reprieve::tests
