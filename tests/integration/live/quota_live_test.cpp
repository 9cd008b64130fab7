// Priorities within a quota and sessions that a quota blocks, through the real programs; and that
// `decide` and the server say the same of both.

#include "tests/integration/live/live_cluster.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace reprieve {

namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

class quota_live : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_TRUE(cluster_.serves()) << cluster_.daemon().output();
  }

  /// What `decide` says now, and then the server.
  void submit(const std::string& manifests, const pod_counts& go) {
    const auto offline = cluster_.decide_with(manifests);
    EXPECT_EQ(offline.victims, go) << "offline: " << offline.output;
    cluster_.mark();
    cluster_.apply(manifests);
    EXPECT_TRUE(cluster_.rests()) << "it does not come to rest";
    EXPECT_EQ(cluster_.evicted(), go);
  }

  live_cluster cluster_;
};

// -- priority within a quota ----------------------------------------------------------------------

TEST_F(quota_live, the_more_important_takes_the_room_of_the_youngest_below_the_limit) {
  cluster_.apply(nodes(1, "gpu: 8") + queue_of("q", "weight: 1, limit: {gpu: 2}"));
  cluster_.run(work_of("low-0", {.queue = "q"}), "low-0");
  cluster_.run(work_of("low-1", {.queue = "q"}), "low-1");

  submit(work_of("important", {.queue = "q", .priority = 100}), {{"low-1", 1}});

  EXPECT_EQ(cluster_.running(), (pod_counts{{"low-0", 1}, {"important", 1}}))
    << cluster_.explain("important");
}

TEST_F(quota_live, no_more_go_than_the_limit_asks_for_where_nodes_are_full_as_well) {
  cluster_.apply(nodes(1, "gpu: 3") + queue_of("q", "weight: 1, limit: {gpu: 2}")
                 + queue_of("other", "weight: 1, limit: {gpu: 1}"));
  cluster_.run(work_of("beside", {.queue = "other"}), "beside");
  cluster_.run(work_of("low-0", {.queue = "q"}), "low-0");
  cluster_.run(work_of("low-1", {.queue = "q"}), "low-1");

  submit(work_of("important", {.queue = "q", .priority = 100}), {{"low-1", 1}});

  EXPECT_EQ(cluster_.running(), (pod_counts{{"beside", 1}, {"low-0", 1}, {"important", 1}}));
}

TEST_F(quota_live, nobody_of_the_same_priority_goes_for_the_limit) {
  cluster_.apply(nodes(1, "gpu: 8") + queue_of("q", "weight: 1, limit: {gpu: 2}"));
  cluster_.run(work_of("first", {.queue = "q", .priority = 100, .pods = 2}), "first", 2);

  submit(work_of("second", {.queue = "q", .priority = 100}), {});

  EXPECT_EQ(cluster_.running(), (pod_counts{{"first", 2}}));
  EXPECT_THAT(cluster_.explain("second"), HasSubstr("limit"));
}

TEST_F(quota_live, the_more_important_takes_room_below_the_ancestor_whose_limit_binds) {
  cluster_.apply(nodes(1, "gpu: 8")
                 + queue_of("team", "weight: 1, capByDemand: true, limit: {gpu: 2}")
                 + queue_of("x", "parent: team, weight: 1, capByDemand: true")
                 + queue_of("y", "parent: team, weight: 1, capByDemand: true"));
  cluster_.run(work_of("x-old", {.queue = "x"}), "x-old");
  cluster_.run(work_of("x-young", {.queue = "x"}), "x-young");

  submit(work_of("y-important", {.queue = "y", .priority = 100}), {{"x-young", 1}});

  EXPECT_EQ(cluster_.running(), (pod_counts{{"x-old", 1}, {"y-important", 1}}))
    << cluster_.explain("y-important");
}

TEST_F(quota_live, the_more_important_takes_room_of_its_own_queue_where_an_ancestors_limit_binds) {
  cluster_.apply(nodes(1, "gpu: 8")
                 + queue_of("team", "weight: 1, capByDemand: true, limit: {gpu: 2}")
                 + queue_of("x", "parent: team, weight: 1, capByDemand: true"));
  cluster_.run(work_of("x-old", {.queue = "x"}), "x-old");
  cluster_.run(work_of("x-young", {.queue = "x"}), "x-young");

  submit(work_of("x-important", {.queue = "x", .priority = 100}), {{"x-young", 1}});

  EXPECT_EQ(cluster_.running(), (pod_counts{{"x-old", 1}, {"x-important", 1}}))
    << cluster_.explain("x-important");
}

TEST_F(quota_live, another_queues_guarantee_is_never_taken) {
  cluster_.apply(nodes(1, "gpu: 8")
                 + queue_of("team", "weight: 1, capByDemand: true, limit: {gpu: 2}")
                 + queue_of("x", "parent: team, weight: 1, capByDemand: true, guaranteed: {gpu: 2}")
                 + queue_of("y", "parent: team, weight: 1, capByDemand: true"));
  cluster_.run(work_of("x-work", {.queue = "x", .pods = 2}), "x-work", 2);

  submit(work_of("y-important", {.queue = "y", .priority = 100}), {});

  EXPECT_EQ(cluster_.running(), (pod_counts{{"x-work", 2}}));
}

TEST_F(quota_live, what_a_limit_admits_starts_when_those_have_gone_who_make_room_in_it) {
  cluster_.apply(nodes(1, "gpu: 16")
                 + queue_of("q", "weight: 1, capByDemand: true, limit: {gpu: 2}"));
  const auto pods_of = [&](int priority) {
    return work_of(fmt::format("p{}", priority), {.queue = "q",
                                                  .priority = priority,
                                                  .requests = "gpu: 2",
                                                  .annotations = "simulation/stop-takes: 3s",
                                                  .comes_back = false});
  };
  cluster_.run(pods_of(0), "p0");
  cluster_.mark();

  cluster_.apply(pods_of(10));
  std::this_thread::sleep_for(std::chrono::milliseconds{1500});
  EXPECT_EQ(cluster_.evicted(), (pod_counts{{"p0", 1}}));
  EXPECT_EQ(cluster_.started(), pod_counts{}) << "its predecessor still uses all of the limit";

  cluster_.wait_for("p10");
  EXPECT_TRUE(cluster_.rests());
  EXPECT_EQ(cluster_.running(), (pod_counts{{"p10", 1}}));
}

// -- limits that fall -----------------------------------------------------------------------------

TEST_F(quota_live, a_limit_that_falls_stops_less_important_work_below_it_and_a_gang_stays) {
  const auto org = [](int limit) {
    return queue_of("org", fmt::format("weight: 1, capByDemand: true, limit: {{gpu: {}}}", limit));
  };
  cluster_.apply(nodes(3, "gpu: 8") + org(24)
                 + queue_of("t1", "parent: org, weight: 1, capByDemand: true")
                 + queue_of("t2", "parent: org, weight: 1, capByDemand: true"));
  cluster_.run(work_of("mid", {.queue = "t1", .priority = 10, .pods = 4}), "mid", 4);
  cluster_.run(work_of("low", {.queue = "t2", .pods = 6}), "low", 6);
  cluster_.run(
    work_of("gang", {.queue = "t2", .priority = 50, .pods = 4, .gang = true, .requests = "gpu: 2"}),
    "gang", 4);

  submit(org(11), {{"low", 6}, {"mid", 1}});

  EXPECT_EQ(cluster_.running(), (pod_counts{{"mid", 3}, {"gang", 4}}));
  EXPECT_THAT(cluster_.explain("low"), HasSubstr("more important and within the same limit"));
}

TEST_F(quota_live, a_limit_that_falls_leaves_a_queue_between_what_it_is_guaranteed) {
  const auto org = [](int limit) {
    return queue_of("org", fmt::format("weight: 1, capByDemand: true, limit: {{gpu: {}}}", limit));
  };
  cluster_.apply(
    nodes(3, "gpu: 8") + org(24)
    + queue_of("division", "parent: org, weight: 1, capByDemand: true, guaranteed: {gpu: 4}")
    + queue_of("inner", "parent: division, weight: 1, capByDemand: true")
    + queue_of("t2", "parent: org, weight: 1, capByDemand: true"));
  cluster_.run(work_of("low", {.queue = "inner", .pods = 4}), "low", 4);
  cluster_.run(
    work_of("gang", {.queue = "t2", .priority = 50, .pods = 4, .gang = true, .requests = "gpu: 2"}),
    "gang", 4);

  submit(org(11), {{"gang", 4}});

  EXPECT_EQ(cluster_.running(), (pod_counts{{"low", 4}}));
}

// -- sessions -------------------------------------------------------------------------------------

TEST_F(quota_live, a_session_that_its_quota_blocks_lets_the_next_one_preempt) {
  const std::string in_lab = "resourceGroup: lab";
  cluster_.apply("kind: ResourceGroup\nmetadata: {name: lab}\nspec: {policy: Sessions}\n---\n"
                 "kind: Node\nmetadata: {name: n0}\n"
                 "spec: {resourceGroup: lab, capacity: {gpu: 3}}\n"
                 + queue_of("tight", "weight: 1, capByDemand: true, limit: {gpu: 1}")
                 + queue_of("open", "weight: 2, capByDemand: true"));
  cluster_.run(work_of("holder", {.queue = "tight", .priority = 60, .more = in_lab}), "holder");
  cluster_.run(work_of("low-old", {.queue = "open", .priority = 1, .more = in_lab}), "low-old");
  cluster_.run(work_of("low-new", {.queue = "open", .priority = 1, .more = in_lab}), "low-new");
  submit(work_of("front", {.queue = "tight", .priority = 90, .more = in_lab}), {});

  submit(work_of("next", {.queue = "open", .priority = 50, .more = in_lab}), {{"low-old", 1}});

  EXPECT_EQ(cluster_.running(), (pod_counts{{"holder", 1}, {"low-new", 1}, {"next", 1}}))
    << cluster_.explain("next");
  EXPECT_THAT(cluster_.explain("front"), HasSubstr("tight"));
}

TEST_F(quota_live, a_session_larger_than_every_node_lets_the_next_one_preempt) {
  const std::string in_lab = "resourceGroup: lab";
  cluster_.apply("kind: ResourceGroup\nmetadata: {name: lab}\nspec: {policy: Sessions}\n---\n"
                 "kind: Node\nmetadata: {name: n0}\n"
                 "spec: {resourceGroup: lab, capacity: {gpu: 2}}\n"
                 + queue_of("open", "weight: 1, capByDemand: true"));
  cluster_.run(work_of("low", {.queue = "open", .priority = 1, .pods = 2, .more = in_lab}), "low",
               2);
  submit(work_of("huge", {.queue = "open", .priority = 95, .requests = "gpu: 9", .more = in_lab}),
         {});

  submit(work_of("next", {.queue = "open", .priority = 20, .requests = "gpu: 2", .more = in_lab}),
         {{"low", 2}});

  EXPECT_EQ(cluster_.running(), (pod_counts{{"next", 1}})) << cluster_.explain("next");
}

// -- without a server -----------------------------------------------------------------------------

/// Two equal queues of eight GPUs.
constexpr auto two_queues_of_four = R"(
kind: Node
metadata: {name: n0}
spec: {capacity: {gpu: 8}}
---
kind: Queue
metadata: {name: giver}
spec: {weight: 1}
status: {deserved: {gpu: 4}, allocated: {gpu: 2}, used: {gpu: 2}}
---
kind: Queue
metadata: {name: receiver}
spec: {weight: 1}
status: {deserved: {gpu: 4}, allocated: {gpu: 2}, used: {gpu: 0}}
---
kind: Workload
metadata: {name: runs}
spec: {queue: giver, podGroups: [{name: w, count: 2, template: {spec: {requests: {gpu: 1}}}}]}
---
kind: Pod
metadata: {name: runs-w-0-0}
spec: {workload: runs, group: w, index: 0, nodeName: n0}
status: {phase: Running}
---
kind: Pod
metadata: {name: runs-w-0-1}
spec: {workload: runs, group: w, index: 1, nodeName: n0}
status: {phase: Running}
)";

TEST(decide_with_quota, checks_the_limit_after_victims_were_counted) {
  std::string all = nodes(1, "gpu: 8") + queue_of("q", "weight: 1, limit: {gpu: 1}")
                    + work_of("low", {.queue = "q"})
                    + "---\nkind: Pod\nmetadata: {name: low-w-0-0}\n"
                      "spec: {workload: low, group: w, index: 0, nodeName: n0}\n"
                      "status: {phase: Running}\n"
                    + work_of("important", {.queue = "q", .priority = 100});

  const auto made = decide_all(all);

  EXPECT_EQ(made.victims, (pod_counts{{"low", 1}})) << made.output;
  EXPECT_THAT(made.placed, Contains("important"));
}

TEST(decide_with_quota, starts_nothing_beyond_what_the_queue_deserves) {
  const auto made =
    decide_all(two_queues_of_four + work_of("more", {.queue = "receiver", .requests = "gpu: 5"}));

  EXPECT_EQ(made.victims, pod_counts{}) << made.output;
  EXPECT_THAT(made.placed, Not(Contains("more"))) << made.output;
}

TEST(decide_with_quota, reviews_a_nomination_whose_node_was_lost) {
  const auto made =
    decide_all("kind: Node\nmetadata: {name: n0}\nspec: {capacity: {gpu: 1}, ready: false}\n"
               "---\nkind: Node\nmetadata: {name: n1}\nspec: {capacity: {gpu: 1}}\n"
               + work_of("moves", {.priority = 10})
               + "---\nkind: Pod\nmetadata: {name: moves-w-0-0}\n"
                 "spec: {workload: moves, group: w, index: 0, nodeName: n0}\n"
                 "status: {phase: Nominated, placedBy: d1}\n");

  EXPECT_EQ(made.victims, pod_counts{}) << made.output;
  EXPECT_THAT(made.placed, Contains("moves")) << made.output;
  EXPECT_THAT(made.output, HasSubstr("\"node\": \"n1\"")) << made.output;
}

// -- limits over several resource groups ----------------------------------------------------------

TEST_F(quota_live, who_lacks_a_part_of_a_limit_keeps_nothing_of_it_from_others_elsewhere) {
  std::string groups;
  for (const auto* group : {"a", "b", "c"})
    groups += fmt::format("kind: ResourceGroup\nmetadata: {{name: {0}}}\n---\n"
                          "kind: Node\nmetadata: {{name: {0}1}}\n"
                          "spec: {{resourceGroup: {0}, capacity: {{gpu: 8}}}}\n---\n",
                          group);
  cluster_.apply(groups + queue_of("q", "weight: 1, capByDemand: true, limit: {gpu: 7}"));
  const auto in = [](const std::string& group) { return "resourceGroup: " + group; };
  cluster_.run(
    work_of("gang-1", {.queue = "q", .priority = 40, .pods = 3, .gang = true, .more = in("a")}),
    "gang-1", 3);
  cluster_.run(work_of("some", {.queue = "q", .priority = 40, .pods = 2, .more = in("b")}), "some",
               2);
  cluster_.apply(
    work_of("gang-2", {.queue = "q", .priority = 5, .pods = 3, .gang = true, .more = in("a")}));
  EXPECT_TRUE(cluster_.rests());
  cluster_.apply(work_of("lone-c", {.queue = "q", .priority = 50, .more = in("c")})
                 + work_of("lone-b", {.queue = "q", .priority = 20, .more = in("b")}));

  cluster_.wait_for("lone-c");
  cluster_.wait_for("lone-b");
  EXPECT_THAT(cluster_.explain("gang-2"), HasSubstr("limit"));
}

} // namespace

} // namespace reprieve
