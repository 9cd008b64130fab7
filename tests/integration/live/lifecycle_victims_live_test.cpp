// Who makes room in a cluster with a scheduler of its own, rule by rule, through the real programs.

#include "tests/integration/live/lifecycle_live.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace reprieve {

namespace {

using std::chrono::seconds;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

class lifecycle_victims_live : public lifecycle_live {
protected:
  /// Two replicas run, and then there are to be fewer.
  void scale_down(const std::string& name, deployment_shape shape) {
    shape.replicas = 2;
    run(name, shape);
    shape.replicas = 1;
    cluster_.apply(deployment_of(name, shape));
  }

  /// On node `f`, one pod of `forced` is being force-deleted, and nobody waits for it any more.
  void begin_to_force_delete() {
    cluster_.apply(edge_node("f", 2));
    scale_down("forced", {.priority = 8, .site = "f", .annotations = is_stuck});
    cluster_.apply(deployment_of("first", {.priority = 9, .site = "f"}));
    ASSERT_TRUE(within(seconds{20}, [&] { return pods("forced", "ForceDeleting") == 1; }))
      << cluster_.explain("first");
    cluster_.remove("workload", "first");
  }

  /// On node `t`, one pod of `ending` terminates.
  void begin_to_terminate() {
    cluster_.apply(edge_node("t", 2));
    scale_down("ending",
               {.priority = 7, .site = "t", .grace = "100s", .annotations = stops_slowly});
    ASSERT_TRUE(within(seconds{20}, [&] { return pods("ending", "Terminating") == 1; }));
  }

  /// On node `s`, `extra` has a pod more than is committed.
  void begin_to_scale_down() {
    cluster_.apply(edge_node("s", 2));
    scale_down("extra", {.priority = 6, .site = "s", .annotations = is_scaled_slowly});
    ASSERT_TRUE(within(seconds{20}, [&] { return committed("extra") == 1; }));
    ASSERT_EQ(pods("extra", "Running"), 2);
  }

  /// On node `c`, both pods of `whole` are committed; it is the least important of all.
  void run_committed() {
    cluster_.apply(edge_node("c", 2));
    run("whole", {.priority = 0, .replicas = 2, .site = "c"});
  }
};

// -- the four stages ------------------------------------------------------------------------------

TEST_F(lifecycle_victims_live, a_pod_that_is_being_force_deleted_comes_first) {
  begin_to_force_delete();
  begin_to_terminate();

  cluster_.apply(deployment_of("web", {.priority = 9}));

  waits_on("web", {"f"});
  stays_so();
  EXPECT_THAT(cluster_.explain("web"), HasSubstr("1 replica waits for 1 pod to leave"));
  EXPECT_EQ(cluster_.told("ForceDeleted"), 1) << "when nobody had to wait for another one";
}

TEST_F(lifecycle_victims_live, then_one_that_terminates) {
  begin_to_terminate();
  begin_to_scale_down();

  cluster_.apply(deployment_of("web", {.priority = 9}));

  waits_on("web", {"t"});
  stays_so();
  EXPECT_EQ(cluster_.told("ForceDeleted"), 0) << "it has its grace period";
}

TEST_F(lifecycle_victims_live, then_one_beyond_what_is_committed) {
  begin_to_scale_down();
  run_committed();

  cluster_.apply(deployment_of("web", {.priority = 9}));

  waits_on("web", {"s"});
  stays_so();
  EXPECT_EQ(committed("whole"), 2) << placements();
  EXPECT_EQ(committed("web"), 0) << "nobody is scaled up before there is room";
}

TEST_F(lifecycle_victims_live, then_a_committed_one_whose_deployment_is_scaled_down) {
  begin_to_terminate();
  begin_to_scale_down();
  run_committed();

  cluster_.apply(deployment_of("web", {.priority = 9, .replicas = 3}));

  waits_on("web", {"s", "t"});
  comes_to("whole", 1);
  comes_to("web", 1);
  EXPECT_EQ(pods("web", "Running", "c"), 1);
  EXPECT_THAT(placements(), ContainsRegex("extra.edge +extra +edge +1 +2"));
  EXPECT_THAT(cluster_.explain("web"), HasSubstr("whole goes from 2 to 1 in edge"));
  EXPECT_EQ(cluster_.told("ScaledDown", "whole.edge"), 1);
  EXPECT_EQ(cluster_.told("Preempted"), 1) << "of all four only whole loses what it asks for";
}

// -- ties -----------------------------------------------------------------------------------------

TEST_F(lifecycle_victims_live, of_committed_ones_that_of_the_lowest_priority_goes) {
  cluster_.apply(edge_node("a", 2) + edge_node("b", 2));
  run("low", {.priority = 1, .replicas = 2, .site = "a"});
  run("mid", {.priority = 2, .replicas = 2, .site = "b"});

  cluster_.apply(deployment_of("web", {.priority = 9}));

  comes_to("web", 1);
  comes_to("low", 1);
  EXPECT_EQ(committed("mid"), 2) << "though its pods are younger";
}

TEST_F(lifecycle_victims_live, of_equal_ones_the_youngest_goes) {
  cluster_.apply(edge_node("a", 2) + edge_node("b", 2));
  run("young-z", {.priority = 1, .replicas = 2, .site = "b"});
  run("old-a", {.priority = 1, .replicas = 2, .site = "a"});

  cluster_.apply(deployment_of("web", {.priority = 9}));

  comes_to("web", 1);
  comes_to("old-a", 1);
  EXPECT_EQ(committed("young-z"), 2) << "its pods came first, whatever it is called";
}

TEST_F(lifecycle_victims_live, the_last_of_them_made_at_one_moment_goes_by_name) {
  cluster_.apply(edge_node("a", 1) + edge_node("b", 1) + edge_node("c", 1));
  run("crawl", {.priority = 1, .replicas = 3});
  ASSERT_EQ(pods("crawl", "Running", "c"), 1);

  cluster_.apply(deployment_of("web", {.priority = 9}));

  comes_to("web", 1);
  EXPECT_EQ(pods("web", "Running", "c"), 1) << "crawl-w-2 has the highest name";
}

TEST_F(lifecycle_victims_live, a_score_that_somebody_has_set_stays) {
  cluster_.apply(edge_node("a", 2) + deployment_of("crawl", {.priority = 1, .replicas = 2})
                 + "---\nkind: Placement\nmetadata: {name: crawl.edge}\n"
                   "spec: {deployment: crawl, cluster: edge, score: 7}\n");
  comes_to("crawl", 2);
  cluster_.apply(deployment_of("web", {.priority = 9}));

  comes_to("web", 1);
  EXPECT_THAT(placements(), ContainsRegex("crawl.edge +crawl +edge +1 +1 +7"));
}

// -- the last replica -----------------------------------------------------------------------------

TEST_F(lifecycle_victims_live, nobody_loses_its_last_replica) {
  cluster_.apply(edge_node("a", 1) + edge_node("b", 1));
  run("one", {.priority = 0});
  run("two", {.priority = 1});

  cluster_.apply(deployment_of("web", {.priority = 9}));

  ASSERT_TRUE(within(seconds{10}, [&] { return committed("web") == 0; }));
  stays_so();
  EXPECT_EQ(cluster_.running(), (pod_counts{{"one", 1}, {"two", 1}}));
  EXPECT_THAT(cluster_.explain("web"),
              HasSubstr("It waits: 1 replica: 2 of 2 nodes that suit it are "
                        "short of gpu even once all have gone who may"));
}

TEST_F(lifecycle_victims_live, those_taken_before_in_the_cycle_count) {
  cluster_.apply(edge_node("a", 3));
  run("crawl", {.priority = 0, .replicas = 3});

  cluster_.apply(deployment_of("high", {.priority = 9, .replicas = 2})
                 + deployment_of("mid", {.priority = 5, .replicas = 2}));

  comes_to("high", 2);
  comes_to("crawl", 1);
  stays_so();
  EXPECT_EQ(cluster_.running(), (pod_counts{{"high", 2}, {"crawl", 1}}));
}

TEST_F(lifecycle_victims_live, one_that_leaves_anyway_is_waited_for_even_as_the_last) {
  cluster_.apply(edge_node("a", 1));
  run("crawl", {.priority = 9, .annotations = stops_slowly});
  cluster_.remove("workload", "crawl");

  cluster_.apply(deployment_of("web", {.priority = 1}));

  comes_to("web", 1);
  EXPECT_EQ(cluster_.told("ForceDeleted"), 1);
  EXPECT_THAT(cluster_.explain("web"), HasSubstr("terminates, and its grace period is over"));
}

// -- limits ---------------------------------------------------------------------------------------

TEST_F(lifecycle_victims_live, a_limit_that_falls_to_nothing_stops_each_replica_once) {
  cluster_.apply(edge_node("a", 8) + queue_of("q", "capByDemand: true"));
  run("crawl", {.priority = 1, .replicas = 4, .queue = "q"});
  cluster_.mark();

  for (const int left : {2, 0}) {
    SCOPED_TRACE(left);
    cluster_.apply(queue_of("q", "capByDemand: true, limit: {gpu: " + std::to_string(left) + "}"));
    comes_to("crawl", left);
    stays_so();
  }

  EXPECT_EQ(cluster_.evicted(), (pod_counts{{"crawl", 4}}));
  EXPECT_EQ(cluster_.started(), pod_counts{}) << "nobody came in place of those who went";
  EXPECT_EQ(cluster_.told("Preempted"), 4);
  EXPECT_EQ(cluster_.told("Aborted"), 0);
}

TEST_F(lifecycle_victims_live, jobs_that_take_replicas_of_one_deployment_are_planned_once) {
  cluster_.apply(edge_node("a", 4) + edge_node("b", 4));
  run("crawl", {.priority = 1, .replicas = 8});
  cluster_.mark();

  std::string jobs;
  for (const auto* name : {"j1", "j2", "j3"})
    jobs += work_of(name, {.priority = 9, .more = "resourceGroup: edge"});
  cluster_.apply(jobs);

  comes_to("crawl", 5);
  for (const auto* name : {"j1", "j2", "j3"})
    cluster_.wait_for(name);
  stays_so();
  EXPECT_EQ(cluster_.evicted(), (pod_counts{{"crawl", 3}}));
  EXPECT_EQ(cluster_.started(), (pod_counts{{"j1", 1}, {"j2", 1}, {"j3", 1}}));
  EXPECT_EQ(cluster_.told("Aborted"), 0);
}

// -- nodes ----------------------------------------------------------------------------------------

TEST_F(lifecycle_victims_live, for_several_gpus_the_node_whose_worst_victim_is_least_counts) {
  cluster_.apply(edge_node("a", 4) + edge_node("b", 4));
  run("a-low", {.priority = 1, .replicas = 2, .site = "a"});
  run("a-high", {.priority = 5, .replicas = 2, .site = "a"});
  run("b-mid", {.priority = 3, .replicas = 4, .site = "b"});

  cluster_.apply(deployment_of("web", {.priority = 9, .gpus = 2}));

  comes_to("web", 1);
  EXPECT_EQ(pods("web", "Running", "b"), 1) << "on a one of priority 5 would have to go";
  EXPECT_EQ(cluster_.running(),
            (pod_counts{{"a-low", 2}, {"a-high", 2}, {"b-mid", 2}, {"web", 1}}));
}

TEST_F(lifecycle_victims_live, nobody_who_is_well_goes_when_another_node_is_deleted_by_force) {
  cluster_.apply(edge_node("a", 4));
  cluster_.apply(deployment_of("web", {.priority = 9, .replicas = 6}));
  cluster_.wait_for("web", 4);
  cluster_.apply(edge_node("b", 4));
  comes_to("web", 6);
  cluster_.mark();

  const auto deleted = cluster_.daemon().cli({"delete", "node", "a", "--force"});

  ASSERT_EQ(deleted.code, 0) << deleted.output;
  comes_to("web", 4);
  stays_so();
  EXPECT_EQ(pods("web", "Running", "b"), 4);
  EXPECT_EQ(cluster_.started(), (pod_counts{{"web", 2}})) << "in place of those that were lost";
  EXPECT_EQ(cluster_.evicted(), (pod_counts{{"web", 4}})) << "their machine was there after all";
  EXPECT_EQ(cluster_.told("NodeClean"), 1);

  cluster_.restart();
  cluster_.apply(edge_node("a", 4));
  comes_to("web", 6);
  EXPECT_EQ(pods("web", "Running", "b"), 4);
}

} // namespace

} // namespace reprieve
