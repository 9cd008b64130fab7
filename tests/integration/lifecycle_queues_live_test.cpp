// Queues that share a cluster with a scheduler of its own, through the real programs; and that
// `decide` says of a snapshot what the server does.

#include "tests/integration/lifecycle_live.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace reprieve {

namespace {

using std::chrono::seconds;
using testing::HasSubstr;

class lifecycle_queues_live : public lifecycle_live {};

TEST_F(lifecycle_queues_live, a_queue_gets_back_what_it_deserves_from_more_important_replicas) {
  cluster_.apply(edge_node("a", 4) + queue_of("one", "weight: 1, capByDemand: true")
                 + queue_of("two", "weight: 1, capByDemand: true"));
  run("lent", {.priority = 5, .replicas = 4, .queue = "one"});

  cluster_.apply(deployment_of("asks", {.priority = 1, .replicas = 3, .queue = "two"}));

  comes_to("asks", 2);
  comes_to("lent", 2);
  stays_so();
  EXPECT_THAT(cluster_.explain("asks"), HasSubstr("its queue uses more than it deserves"));
  EXPECT_THAT(cluster_.explain("asks"), HasSubstr("It waits: queue two deserves 2 gpu"));
  EXPECT_EQ(cluster_.told("ScaledUp", "lent.edge"), 1) << "it does not get any back";
}

TEST_F(lifecycle_queues_live, a_quota_goes_to_the_more_important_also_where_nodes_have_room) {
  cluster_.apply(edge_node("a", 8) + queue_of("q", "weight: 1, limit: {gpu: 2}"));
  run("low", {.priority = 1, .replicas = 2, .queue = "q"});

  cluster_.apply(deployment_of("high", {.priority = 9, .replicas = 2, .queue = "q"}));

  comes_to("high", 1);
  comes_to("low", 1);
  stays_so();
  EXPECT_THAT(cluster_.explain("high"), HasSubstr("does not fit into its quota beside it"));
  EXPECT_THAT(cluster_.explain("high"), HasSubstr("It waits: queue q has a limit of 2 gpu"));
}

TEST_F(lifecycle_queues_live, decide_says_of_a_snapshot_what_the_server_waits_for) {
  cluster_.apply(edge_node("a", 2));
  run("crawl", {.priority = 1, .replicas = 2, .grace = "100s", .annotations = stops_slowly});
  cluster_.apply(deployment_of("web", {.priority = 9, .replicas = 2}));
  waits_on("web", {"a"});

  const temporary_directory directory;
  const auto file = (directory.path() / "snapshot.yaml").string();
  const auto written = cluster_.daemon().cli({"admin", "snapshot", file});
  ASSERT_EQ(written.code, 0) << written.output;
  const auto told = run_program({REPRIEVE_BINARIES "/reprieve", "decide", "-f", file, "--all"});
  EXPECT_EQ(told.code, 3) << told.output;
  EXPECT_THAT(told.output, HasSubstr("Replicas in resource group edge"));
  EXPECT_THAT(told.output, HasSubstr("web waits: 1 replica waits for 1 pod to leave"));
  EXPECT_THAT(cluster_.explain("web"), HasSubstr("It waits: 1 replica waits for 1 pod to leave"));
}

} // namespace

} // namespace reprieve
