// What others leave, through the real programs: whoever leaves counts until it has gone, nobody is
// back before, and what is left goes to whom it is for.

#include "tests/integration/live/live_cluster.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

namespace reprieve {

namespace {

using std::chrono::seconds;
using testing::HasSubstr;

class leaving_live : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_TRUE(cluster_.serves()) << cluster_.daemon().output();
  }

  /// Pods of the workload that are somewhere, whatever they do there.
  int there(const std::string& workload) const {
    int count = 0;
    for (const auto& one : cluster_.get("pods"))
      count += one["spec"].value("workload", "") == workload ? 1 : 0;
    return count;
  }

  live_cluster cluster_;
};

TEST_F(leaving_live, pods_that_were_deleted_count_within_a_limit_until_they_have_gone) {
  cluster_.apply(nodes(4, "gpu: 8") + queue_of("q", "limit: {gpu: 8}"));
  const work_shape slow{
    .queue = "q", .requests = "gpu: 8", .annotations = "simulation/stop-takes: 3s"};
  cluster_.run(work_of("first", slow), "first");
  cluster_.remove("workload", "first");
  cluster_.mark();
  cluster_.apply(work_of("second", slow));
  std::this_thread::sleep_for(seconds{1});
  EXPECT_EQ(cluster_.started()["second"], 0);
  EXPECT_EQ(cluster_.queue_amount("q", "used", "gpu"), "8");
  EXPECT_THAT(cluster_.explain("second"), HasSubstr("until they have gone"));
  cluster_.wait_for("second");
  EXPECT_EQ(cluster_.queue_amount("q", "used", "gpu"), "8");
  EXPECT_EQ(sum(cluster_.evicted()), 0);
}

TEST_F(leaving_live, room_that_is_free_is_not_taken_while_others_leave_elsewhere_within_its_limit) {
  cluster_.apply(nodes(2, "gpu: 8") + queue_of("q", "limit: {gpu: 8}"));
  cluster_.run(
    work_of("slow",
            {.queue = "q", .requests = "gpu: 8", .annotations = "simulation/stop-takes: 4s"})
      + work_of("quick", {.requests = "gpu: 8", .annotations = "simulation/stop-takes: 1s"}),
    "slow");
  cluster_.wait_for("quick");
  cluster_.remove("workload", "slow");
  cluster_.remove("workload", "quick");
  cluster_.mark();
  cluster_.apply(work_of("next", {.queue = "q", .requests = "gpu: 8"}));
  ASSERT_TRUE(within(seconds{3}, [&] { return there("quick") == 0; }));
  std::this_thread::sleep_for(seconds{1});
  EXPECT_EQ(there("slow"), 1);
  EXPECT_EQ(cluster_.started()["next"], 0);
  cluster_.wait_for("next");
  EXPECT_EQ(there("slow"), 0);
}

TEST_F(leaving_live, the_next_in_a_limit_is_the_more_important_one) {
  cluster_.apply(nodes(4, "gpu: 8") + queue_of("q", "limit: {gpu: 8}"));
  cluster_.run(
    work_of("first",
            {.queue = "q", .requests = "gpu: 8", .annotations = "simulation/stop-takes: 3s"}),
    "first");
  cluster_.remove("workload", "first");
  cluster_.mark();
  cluster_.apply(work_of("large", {.queue = "q", .priority = 50, .requests = "gpu: 8"})
                 + work_of("small", {.queue = "q", .requests = "gpu: 4"}));
  cluster_.wait_for("large");
  EXPECT_TRUE(cluster_.rests());
  EXPECT_EQ(cluster_.started()["small"], 0);
  EXPECT_EQ(sum(cluster_.evicted()), 0);
  cluster_.remove("workload", "large");
  cluster_.wait_for("small");
}

TEST_F(leaving_live, nobody_comes_back_before_it_has_gone) {
  cluster_.apply(nodes(1, "gpu: 8"));
  cluster_.run(work_of("victim", {.requests = "gpu: 8",
                                  .annotations = "simulation/stop-takes: 4s",
                                  .more = "gracePeriod: 30s"}),
               "victim");
  cluster_.apply(work_of("urgent", {.priority = 50, .requests = "gpu: 8"}));
  ASSERT_TRUE(within(seconds{2}, [&] { return cluster_.told("Preempted", "victim") == 1; }));
  cluster_.mark();
  cluster_.apply(nodes(3, "gpu: 8"));
  std::this_thread::sleep_for(seconds{2});
  EXPECT_EQ(cluster_.started()["victim"], 0);
  EXPECT_EQ(there("victim"), 1);
  cluster_.wait_for("victim");
  EXPECT_EQ(there("victim"), 1);
}

/// A node of four GPUs in a resource group of its own.
std::string group_with_node(const std::string& group) {
  return fmt::format(
    "---\nkind: ResourceGroup\nmetadata: {{name: {0}}}\n---\nkind: Node\nmetadata: "
    "{{name: {0}-node}}\nspec: {{resourceGroup: {0}, capacity: {{gpu: 4}}}}\n",
    group);
}

TEST_F(leaving_live, a_limit_of_several_groups_is_kept_while_pods_of_one_leave) {
  cluster_.apply(group_with_node("a") + group_with_node("b") + queue_of("q", "limit: {gpu: 4}"));
  cluster_.run(work_of("first", {.queue = "q",
                                 .pods = 4,
                                 .annotations = "simulation/stop-takes: 4s",
                                 .more = "resourceGroup: a\n  gracePeriod: 30s"}),
               "first", 4);
  cluster_.mark();
  cluster_.apply(
    work_of("second", {.queue = "q", .priority = 50, .pods = 4, .more = "resourceGroup: b"}));
  EXPECT_TRUE(cluster_.rests());
  EXPECT_EQ(cluster_.started()["second"], 0) << "others have all of the limit";
  cluster_.remove("workload", "first");
  int most = 0;
  EXPECT_TRUE(within(seconds{20},
                     [&] {
                       most = std::max(most, static_cast<int>(cluster_.get("pods").size()));
                       return cluster_.running()["second"] == 4;
                     }))
    << cluster_.explain("second");
  EXPECT_EQ(most, 4);
  EXPECT_EQ(sum(cluster_.evicted()), 0);
}

/// `many` may do with two of its four pods.
std::string many(int count) {
  return fmt::format("---\nkind: Workload\nmetadata: {{name: many}}\nspec:\n  priority: 100\n"
                     "  podGroups: [{{name: g, count: {}, minCount: 2, template: {{spec: "
                     "{{requests: {{gpu: 1}}}}}}}}]\n",
                     count);
}

TEST_F(leaving_live, a_gang_that_stops_others_takes_the_room_for_all_its_pods) {
  cluster_.apply(nodes(1, "gpu: 4"));
  cluster_.run(work_of("low", {.pods = 4}), "low", 4);
  cluster_.mark();
  cluster_.apply(many(4) + work_of("mid", {.priority = 50, .pods = 2, .gang = true}));
  cluster_.wait_for("many", 4);
  EXPECT_TRUE(cluster_.rests());
  EXPECT_EQ(cluster_.evicted(), (pod_counts{{"low", 4}}));
  EXPECT_EQ(cluster_.started()["mid"], 0);
}

TEST_F(leaving_live, what_a_gang_frees_is_used_where_others_take_long_to_go) {
  cluster_.apply(nodes(1, "gpu: 4"));
  cluster_.run(work_of("low", {.pods = 4, .annotations = "simulation/stop-takes: 2s"}), "low", 4);
  cluster_.mark();
  cluster_.apply(many(3) + work_of("mid", {.priority = 50, .pods = 2, .gang = true}));
  cluster_.wait_for("many", 3);
  EXPECT_TRUE(cluster_.rests());
  EXPECT_EQ(cluster_.evicted(), (pod_counts{{"low", 3}}));
  EXPECT_EQ(cluster_.told("Aborted"), 0);
}

/// Its share rises as others go, at once and not pod by pod.
TEST_F(leaving_live, a_delete_does_not_start_anybody_who_has_to_go_again) {
  const std::string capped = "capByDemand: true";
  cluster_.apply(nodes(1, "gpu: 5") + queue_of("q1", capped) + queue_of("q2", capped)
                 + queue_of("q3", capped + ", guaranteed: {gpu: 1}"));
  for (int i = 0; i < 3; ++i) {
    cluster_.run(
      work_of("old", {.queue = "q1", .pods = 2, .annotations = "simulation/stop-takes: 300ms"}),
      "old", 2);
    cluster_.run(work_of("top", {.queue = "q2", .priority = 500, .requests = "gpu: 2"}), "top");
    cluster_.apply(work_of("high", {.queue = "q2", .priority = 50, .requests = "gpu: 2"})
                   + work_of("low", {.queue = "q2", .priority = 10}));
    EXPECT_TRUE(cluster_.rests(seconds{1}));
    cluster_.mark();
    cluster_.remove("workload", "old");
    cluster_.wait_for("high");
    EXPECT_TRUE(cluster_.rests());
    EXPECT_EQ(cluster_.evicted(), pod_counts{});
    for (const auto* name : {"top", "high", "low"})
      cluster_.remove("workload", name);
    EXPECT_TRUE(within(seconds{10}, [&] { return cluster_.get("workloads").empty(); }));
  }
}

TEST_F(leaving_live, nobody_goes_from_a_closed_node_for_a_share_that_falls_with_it) {
  const auto closed = [](bool is) {
    return fmt::format("---\nkind: Node\nmetadata: {{name: n1, labels: {{h: n1}}}}\nspec: "
                       "{{capacity: {{gpu: 4}}, unschedulable: {}}}\n",
                       is);
  };
  cluster_.apply(nodes(1, "gpu: 4") + closed(false) + queue_of("a", "weight: 1")
                 + queue_of("b", "weight: 1"));
  cluster_.run(
    "---\nkind: Workload\nmetadata: {name: g}\nspec:\n  queue: a\n  priority: 10\n  podGroups: "
    "[{name: g, count: 4, minCount: 4, disruptionMode: PodGroup, template: {spec: {nodeSelector: "
    "{h: "
    "n1}, requests: {gpu: 1}}}}]\n",
    "g", 4);
  cluster_.run(work_of("b", {.queue = "b", .pods = 3}), "b", 3);
  cluster_.apply(closed(true));
  EXPECT_TRUE(cluster_.rests(seconds{1}));
  cluster_.mark();
  cluster_.apply(work_of("p", {.queue = "a", .priority = 100}));
  EXPECT_TRUE(cluster_.rests());
  EXPECT_EQ(cluster_.evicted(), pod_counts{});
}

} // namespace

} // namespace reprieve
