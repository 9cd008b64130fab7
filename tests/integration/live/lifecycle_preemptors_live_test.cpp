// Who gets room in a cluster with a scheduler of its own, when, and that it stays so, rule by rule,
// through the real programs.

#include "tests/integration/live/lifecycle_live.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

namespace reprieve {

namespace {

using std::chrono::seconds;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

class lifecycle_preemptors_live : public lifecycle_live {
protected:
  bool terminates(const std::string& deployment) {
    return within(seconds{20}, [&] { return pods(deployment, "Terminating") == 1; });
  }
};

// -- who is served --------------------------------------------------------------------------------

TEST_F(lifecycle_preemptors_live, the_most_important_is_served_first) {
  cluster_.apply(edge_node("a", 2));
  run("crawl", {.priority = 1, .replicas = 2});

  cluster_.apply(deployment_of("a-mid", {.priority = 5})
                 + deployment_of("z-high", {.priority = 9}));

  comes_to("z-high", 1);
  stays_so();
  EXPECT_EQ(cluster_.running(), (pod_counts{{"crawl", 1}, {"z-high", 1}}));
}

TEST_F(lifecycle_preemptors_live, nobody_takes_from_the_same_priority) {
  cluster_.apply(edge_node("a", 2));
  run("first", {.priority = 5, .replicas = 2});

  cluster_.apply(deployment_of("second", {.priority = 5}));

  ASSERT_TRUE(within(seconds{10}, [&] { return committed("second") == 0; }));
  stays_so();
  EXPECT_EQ(cluster_.running(), (pod_counts{{"first", 2}}));
  EXPECT_THAT(cluster_.explain("second"), HasSubstr("2 pods of priority 5 or above stay"));
}

TEST_F(lifecycle_preemptors_live, what_one_was_matched_to_is_not_for_others) {
  cluster_.apply(edge_node("a", 2) + edge_node("b", 2));
  run("crawl", {.priority = 1, .replicas = 2, .site = "a", .annotations = is_stuck});
  run("pages", {.priority = 2, .replicas = 2, .site = "b", .annotations = is_stuck});

  cluster_.apply(deployment_of("first", {.priority = 5}));
  waits_on("first", {"a"});
  cluster_.apply(deployment_of("second", {.priority = 5}));
  waits_on("second", {"b"});

  EXPECT_EQ(committed("crawl"), 1);
  EXPECT_EQ(committed("pages"), 1);
  EXPECT_EQ(nominated("first"), std::multiset<std::string>{"a"});
}

TEST_F(lifecycle_preemptors_live, one_whose_class_never_preempts_waits_for_free_room) {
  cluster_.apply(edge_node("a", 2)
                 + "---\nkind: PriorityClass\nmetadata: {name: polite}\n"
                   "spec: {value: 9, preemptionPolicy: Never}\n");
  run("crawl", {.priority = 1, .replicas = 2});

  auto polite = deployment_of("web", {});
  polite.replace(polite.find("priority: 0"), 11, "priorityClassName: polite");
  cluster_.apply(polite);

  ASSERT_TRUE(within(seconds{10}, [&] { return committed("web") == 0; }));
  stays_so();
  EXPECT_THAT(cluster_.explain("web"), HasSubstr("its priority class never preempts"));
  cluster_.apply(edge_node("b", 1));
  comes_to("web", 1);
  EXPECT_EQ(committed("crawl"), 2);
}

TEST_F(lifecycle_preemptors_live, batch_work_beside_it_goes_by_pods) {
  cluster_.apply(edge_node("a", 3));
  run("crawl", {.priority = 1, .replicas = 2});
  cluster_.run(work_of("train", {.priority = 1, .more = "resourceGroup: edge"}), "train");

  cluster_.run(work_of("urgent", {.priority = 9, .more = "resourceGroup: edge"}), "urgent");

  EXPECT_TRUE(cluster_.rests());
  EXPECT_EQ(sum(cluster_.running()), 3);
  EXPECT_EQ(cluster_.running()["urgent"], 1);
  EXPECT_EQ(committed("crawl"), cluster_.running()["crawl"]) << placements();
}

// -- the way of a victim --------------------------------------------------------------------------

TEST_F(lifecycle_preemptors_live, nobody_is_scaled_up_before_the_room_is_free) {
  cluster_.apply(edge_node("a", 2));
  run("crawl", {.priority = 1, .replicas = 2, .grace = "100s", .annotations = stops_slowly});
  cluster_.apply(deployment_of("web", {.priority = 9}));

  ASSERT_TRUE(terminates("crawl"));
  waits_on("web", {"a"});
  stays_so();
  EXPECT_EQ(committed("web"), 0);
  EXPECT_EQ(committed("crawl"), 1);
  EXPECT_EQ(pods("crawl", "Terminating"), 1) << "it has its grace period";
  EXPECT_THAT(cluster_.explain("web"), HasSubstr("It waits: 1 replica waits for 1 pod to leave"));
}

TEST_F(lifecycle_preemptors_live, one_that_does_not_end_within_its_grace_is_force_deleted) {
  cluster_.apply(edge_node("a", 2));
  run("crawl", {.priority = 1, .replicas = 2, .annotations = stops_slowly});
  cluster_.apply(deployment_of("web", {.priority = 9}));

  comes_to("web", 1);
  EXPECT_EQ(cluster_.told("Preempted", "crawl"), 1);
  EXPECT_EQ(cluster_.told("ForceDeleted", "crawl"), 1);
  EXPECT_EQ(cluster_.told("ScaledDown", "crawl.edge"), 1);
  EXPECT_EQ(cluster_.told("ScaledUp", "web.edge"), 1);
  EXPECT_THAT(cluster_.explain("web"), ContainsRegex("force-deleted \\(1\\):\n +crawl-w-1"));
}

TEST_F(lifecycle_preemptors_live, a_preemption_counts_once_however_it_ends) {
  cluster_.apply(edge_node("a", 2));
  run("crawl", {.priority = 1, .replicas = 2, .annotations = stops_slowly});
  cluster_.apply(deployment_of("web", {.priority = 9}));
  comes_to("web", 1);

  for (const auto& one : cluster_.get("workloads"))
    if (one["metadata"]["name"] == "crawl") {
      EXPECT_EQ(one["status"]["attempts"], 1);
      EXPECT_EQ(one["status"]["preempted"].size(), 1U);
    }
}

TEST_F(lifecycle_preemptors_live, one_that_nobody_waits_for_is_left_to_terminate) {
  cluster_.apply(edge_node("a", 2));
  run("crawl", {.priority = 1, .replicas = 2, .grace = "0s", .annotations = stops_slowly});
  cluster_.apply(deployment_of(
    "crawl", {.priority = 1, .replicas = 1, .grace = "0s", .annotations = stops_slowly}));
  ASSERT_TRUE(terminates("crawl"));
  stays_so();
  EXPECT_EQ(pods("crawl", "Terminating"), 1);
  EXPECT_EQ(cluster_.told("ForceDeleted"), 0);

  cluster_.apply(deployment_of("web", {.priority = 9}));
  comes_to("web", 1);
  EXPECT_EQ(cluster_.told("ForceDeleted"), 1);
}

TEST_F(lifecycle_preemptors_live, the_chosen_one_stays_so_when_a_cheaper_one_comes) {
  cluster_.apply(edge_node("a", 2, "front"));
  run("crawl", {.priority = 3, .replicas = 2, .grace = "100s", .annotations = stops_slowly});
  cluster_.apply(edge_node("b", 1, "front"));
  run("cheap", {.priority = 0, .replicas = 1});
  cluster_.apply(deployment_of("web", {.priority = 9, .site = "front"}));
  ASSERT_TRUE(terminates("crawl")) << "cheap has but one replica";

  cluster_.apply(edge_node("c", 1));
  run("cheap", {.priority = 0, .replicas = 2});
  stays_so();
  waits_on("web", {"a"});
  EXPECT_EQ(committed("cheap"), 2);
}

// -- who has lost a replica -----------------------------------------------------------------------

TEST_F(lifecycle_preemptors_live, who_lost_a_replica_gets_none_elsewhere_while_it_goes) {
  cluster_.apply(edge_node("a", 2));
  run("crawl", {.priority = 1, .replicas = 2, .grace = "100s", .annotations = stops_slowly});
  cluster_.apply(deployment_of("web", {.priority = 9, .site = "a"}));
  ASSERT_TRUE(terminates("crawl"));

  cluster_.apply(edge_node("b", 2));
  stays_so();
  EXPECT_EQ(committed("crawl"), 1) << placements();
  EXPECT_THAT(cluster_.explain("crawl"), ContainsRegex("It waits: .*gets nothing"));

  // With nobody to make room for, it may have it.
  cluster_.remove("workload", "web");
  comes_to("crawl", 2);
  EXPECT_EQ(pods("crawl", "Running", "b"), 1);
}

TEST_F(lifecycle_preemptors_live, who_lost_a_replica_preempts_again_once_that_has_gone) {
  cluster_.apply(edge_node("a", 2));
  run("mid", {.priority = 5, .replicas = 2, .grace = "2s", .annotations = stops_slowly});
  cluster_.apply(edge_node("b", 2));
  run("low", {.priority = 1, .replicas = 2, .site = "b"});

  cluster_.apply(deployment_of("high", {.priority = 9, .site = "a"}));

  comes_to("high", 1);
  comes_to("mid", 2);
  comes_to("low", 1);
  EXPECT_EQ(pods("mid", "Running", "b"), 1);
}

// -- counts go up again ---------------------------------------------------------------------------

TEST_F(lifecycle_preemptors_live, there_are_more_again_when_there_is_room) {
  cluster_.apply(edge_node("a", 2));
  run("crawl", {.priority = 1, .replicas = 2});
  cluster_.apply(deployment_of("web", {.priority = 9}));
  comes_to("crawl", 1);
  comes_to("web", 1);

  cluster_.apply(edge_node("b", 1));
  comes_to("crawl", 2);
  EXPECT_EQ(cluster_.told("ScaledUp", "crawl.edge"), 2);

  cluster_.apply(deployment_of("crawl", {.priority = 1, .replicas = 3}));
  ASSERT_TRUE(within(seconds{10}, [&] {
    return cluster_.explain("crawl").find("It waits: 1 replica: ") != std::string::npos;
  }));
  cluster_.remove("workload", "web");
  comes_to("crawl", 3);
  EXPECT_THAT(placements(), Not(HasSubstr("web.edge")));
}

TEST_F(lifecycle_preemptors_live, a_lost_preemption_is_taken_up_after_a_kill) {
  cluster_.apply(edge_node("a", 2));
  run("crawl", {.priority = 1, .replicas = 2, .grace = "2s", .annotations = stops_slowly});
  cluster_.apply(deployment_of("web", {.priority = 9}));
  ASSERT_TRUE(terminates("crawl"));
  cluster_.restart();

  comes_to("web", 1);
  comes_to("crawl", 1);
  EXPECT_EQ(cluster_.told("ForceDeleted", "crawl"), 1);
}

TEST_F(lifecycle_preemptors_live, at_rest_nothing_moves_however_many_wait) {
  cluster_.apply(edge_node("a", 2));
  run("low", {.priority = 1, .replicas = 2});
  cluster_.apply(edge_node("b", 2));
  run("mid", {.priority = 5, .replicas = 2});
  cluster_.apply(deployment_of("low", {.priority = 1, .replicas = 6})
                 + deployment_of("mid", {.priority = 5, .replicas = 6})
                 + deployment_of("high", {.priority = 9, .replicas = 6}));

  comes_to("high", 2);
  stays_so();
  EXPECT_EQ(cluster_.running(), (pod_counts{{"low", 1}, {"mid", 1}, {"high", 2}}));
  EXPECT_EQ(cluster_.told("ScaledDown"), 2);
}

} // namespace

} // namespace reprieve
