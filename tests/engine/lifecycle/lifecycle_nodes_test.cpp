#include "tests/engine/lifecycle/lifecycle_world.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

/// Which node a pod gets, and who makes room there (docs/policies.md#lifecycle).
namespace reprieve::tests {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

TEST(lifecycle_nodes, a_pod_that_needs_one_gpu_gets_the_node_with_the_lowest_victim) {
  const auto in = with_spare()
                    .node("n1", gpu(2))
                    .node("n2", gpu(2))
                    .pods("mid", {"n1", "n1", "spare"}, prio(3), gpu(1))
                    .pods("low", {"n2", "spare"}, prio(1), gpu(1))
                    .pods("high", {"n2", "spare"}, prio(9), gpu(1));

  const auto plan = lifecycle_world(in, {wanting("new", 10, 1, gpu(1))}).plan();

  EXPECT_THAT(matches_of(plan), ElementsAre("new@n2"));
  EXPECT_THAT(victims_of(plan), ElementsAre("low-g0-0-0"));
}

TEST(lifecycle_nodes, pods_without_what_is_lacking_do_not_count_as_victims) {
  const auto in = with_spare()
                    .node("n1", gpu(1), cpu(8))
                    .node("n2", gpu(1), cpu(8))
                    .pods("web", {"n1", "spare"}, prio(1), cpu(2))
                    .pods("high", {"n1", "spare"}, prio(9), gpu(1))
                    .pods("mid", {"n2", "spare"}, prio(5), gpu(1));

  const auto plan = lifecycle_world(in, {wanting("new", 10, 1, gpu(1), cpu(1))}).plan();

  EXPECT_THAT(victims_of(plan), ElementsAre("mid-g0-0-0"));
}

TEST(lifecycle_nodes, for_several_gpus_nodes_are_compared_by_their_worst_victim) {
  const auto in = with_spare()
                    .node("n1", gpu(2))
                    .node("n2", gpu(2))
                    .pods("low", {"n1", "spare"}, prio(1), gpu(1))
                    .pods("high", {"n1", "spare"}, prio(5), gpu(1))
                    .pods("mid", {"n2", "n2", "spare"}, prio(4), gpu(1));

  const auto plan = lifecycle_world(in, {wanting("new", 10, 1, gpu(2))}).plan();

  EXPECT_THAT(matches_of(plan), ElementsAre("new@n2"));
  EXPECT_THAT(scaled_down_by(plan), ElementsAre(Pair("mid", 2)));
}

TEST(lifecycle_nodes, the_worst_victim_is_the_one_furthest_from_leaving) {
  const auto in = with_spare()
                    .node("n1", gpu(2))
                    .node("n2", gpu(2))
                    .pods("going", {"n1"}, prio(1), gpu(1), force_deleting)
                    .pods("low", {"n1", "spare"}, prio(1), gpu(1))
                    .pods("high", {"n2", "n2", "spare"}, prio(9), gpu(1), surplus);

  const auto plan = lifecycle_world(in, {wanting("new", 10, 1, gpu(2))}).plan();

  EXPECT_THAT(matches_of(plan), ElementsAre("new@n2"));
  EXPECT_THAT(plan.scale_downs, IsEmpty());
}

TEST(lifecycle_nodes, worst_victims_are_compared_by_priority_score_creation_and_name_in_turn) {
  auto preemptor = wanting("new", 10, 1, gpu(2));
  preemptor.scores = {{"east", 1}, {"west", 2}};
  struct worst {
    std::int32_t priority;
    std::int64_t created;
    std::string name;
  };
  const auto node_for = [&](const worst& in_east, const worst& in_west) {
    auto in = cluster();
    for (const std::string name : {"east", "west"}) {
      const auto& of = name == "east" ? in_east : in_west;
      in.node(name, gpu(2), in_cluster{name})
        .node("spare-" + name, gpu(8), in_cluster{name}, not_ready())
        .pods("least-" + name, {name, "spare-" + name}, prio(0), gpu(1))
        .pods("worst-" + name, {name, "spare-" + name}, prio(of.priority), gpu(1),
              created{of.created}, called{of.name});
    }
    const auto plan = lifecycle_world(in, {preemptor}).plan();
    return plan.matches.empty() ? "none" : plan.matches[0].node;
  };

  EXPECT_EQ(node_for({2, 9, "z"}, {1, 1, "a"}), "west") << "the lower priority";
  EXPECT_EQ(node_for({1, 1, "a"}, {1, 9, "z"}), "east") << "then the lower score";
  preemptor.scores = {{"east", 1}, {"west", 1}};
  EXPECT_EQ(node_for({1, 1, "z"}, {1, 9, "a"}), "west") << "then the one created last";
  EXPECT_EQ(node_for({1, 1, "a"}, {1, 1, "z"}), "west") << "then the higher name";
}

TEST(lifecycle_nodes, then_by_the_number_of_victims_and_then_by_name) {
  auto preemptor = wanting("new", 10, 2, gpu(2));
  preemptor.scores = {{"east", 1}, {"west", 1}, {"north", 1}};
  auto in = cluster();
  for (const std::string name : {"west", "east", "north"})
    in.node("n-" + name, gpu(2), in_cluster{name})
      .node("spare-" + name, gpu(8), in_cluster{name}, not_ready());
  in.pods("a", {"n-east", "n-east", "spare-east"}, prio(1), gpu(1), called{"same"});
  in.pods("b", {"n-west", "spare-west"}, prio(1), gpu(2), called{"same"});
  in.pods("c", {"n-north", "spare-north"}, prio(1), gpu(2), called{"same"});

  const auto plan = lifecycle_world(in, {preemptor}).plan();

  ASSERT_THAT(plan.matches, SizeIs(2));
  EXPECT_EQ(plan.matches[0].node, "n-north");
  EXPECT_EQ(plan.matches[1].node, "n-west");
}

TEST(lifecycle_nodes, victims_that_turn_out_not_to_be_needed_stay) {
  const auto in = with_spare()
                    .node("n1", gpu(6))
                    .pods("low", {"n1", "n1", "spare"}, prio(1), gpu(1))
                    .pods("mid", {"n1", "spare"}, prio(2), gpu(4));

  const auto plan = lifecycle_world(in, {wanting("new", 10, 1, gpu(4))}).plan();

  EXPECT_THAT(victims_of(plan), ElementsAre("mid-g0-0-0"));
  EXPECT_THAT(why_stays(plan, "low-g0-0-0"), HasSubstr("new finds room on n1 without it"));
}

TEST(lifecycle_nodes, of_those_not_needed_the_least_preferred_stay_first) {
  const auto in = with_spare()
                    .node("n1", gpu(5))
                    .pods("a", {"n1", "spare"}, prio(1), gpu(1))
                    .pods("b", {"n1", "spare"}, prio(2), gpu(1))
                    .pods("c", {"n1", "spare"}, prio(3), gpu(3));

  const auto plan = lifecycle_world(in, {wanting("new", 10, 1, gpu(4))}).plan();

  EXPECT_THAT(victims_of(plan), ElementsAre("a-g0-0-0", "c-g0-0-0"));
}

TEST(lifecycle_nodes, free_room_counts_before_any_victim) {
  const auto in = with_spare().node("n1", gpu(4)).pods("a", {"n1", "n1", "spare"}, prio(1), gpu(1));

  const auto plan = lifecycle_world(in, {wanting("new", 10, 1, gpu(3))}).plan();

  EXPECT_THAT(victims_of(plan), SizeIs(1));
}

TEST(lifecycle_nodes, one_node_may_serve_several_pods) {
  const auto in = with_spare().node("n1", gpu(2)).pods("a", {"n1", "n1", "spare"}, prio(1), gpu(1));

  const auto plan = lifecycle_world(in, {wanting("new", 10, 2, gpu(1))}).plan();

  EXPECT_THAT(matches_of(plan), ElementsAre("new@n1", "new@n1"));
  EXPECT_THAT(scaled_down_by(plan), ElementsAre(Pair("a", 2)));
}

TEST(lifecycle_nodes, nobody_goes_for_what_fits) {
  const auto in = with_spare()
                    .node("n1", gpu(1))
                    .pods("going", {"n1"}, prio(1), gpu(1), force_deleting)
                    .node("n2", gpu(1));

  const auto plan = lifecycle_world(in, {wanting("new", 10, 1, gpu(1))}).plan();

  EXPECT_THAT(matches_of(plan), ElementsAre("new@n2"));
  EXPECT_THAT(victims_of(plan), IsEmpty());
}

TEST(lifecycle_nodes, room_held_for_others_is_taken) {
  const auto in = with_spare()
                    .node("n1", gpu(2))
                    .pods("held", {"n1"}, prio(1), gpu(1), in_phase{pod_phase::nominated})
                    .pods("a", {"n1", "spare"}, prio(1), gpu(1));

  const auto one = lifecycle_world(in, {wanting("new", 10, 1, gpu(1))}).plan();
  const auto two = lifecycle_world(in, {wanting("new", 10, 1, gpu(2))}).plan();

  EXPECT_THAT(victims_of(one), ElementsAre("a-g0-0-0"));
  EXPECT_THAT(two.matches, IsEmpty());
}

TEST(lifecycle_nodes, a_hold_is_nobody_to_wait_for_even_when_it_is_given_up) {
  const auto in =
    with_spare()
      .node("n1", gpu(1))
      .pods("held", {"n1"}, prio(1), gpu(1), in_phase{pod_phase::nominated}, chosen_already());

  EXPECT_THAT(lifecycle_world(in, {wanting("new", 10, 1, gpu(1))}).plan().matches, IsEmpty());
}

TEST(lifecycle_nodes, every_resource_has_to_fit) {
  const auto in = with_spare()
                    .node("n1", gpu(4), cpu(4), memory(10))
                    .pods("thinker", {"n1", "spare"}, prio(1), cpu(4))
                    .pods("keeper", {"n1", "spare"}, prio(2), memory(10));

  const auto plan = lifecycle_world(in, {wanting("new", 10, 1, gpu(1), memory(5))}).plan();

  EXPECT_THAT(victims_of(plan), ElementsAre("keeper-g0-0-0"));
}

TEST(lifecycle_nodes, places_for_pods_count_like_any_resource) {
  const auto in = with_spare()
                    .node("n1", gpu(4), [](node& n) { n.capacity["pods"] = 1; })
                    .pods("a", {"n1", "spare"}, prio(1));

  const auto plan = lifecycle_world(in, {wanting("new", 10, 1, gpu(1))}).plan();

  EXPECT_THAT(victims_of(plan), ElementsAre("a-g0-0-0"));
}

TEST(lifecycle_nodes, only_clusters_that_the_preemptor_may_run_in_are_looked_at) {
  const auto in = with_spare()
                    .node("elsewhere", gpu(1), in_cluster{"west"})
                    .node("n1", gpu(1))
                    .pods("a", {"n1", "spare"}, prio(5), gpu(1));

  const auto plan = lifecycle_world(in, {wanting("new", 10, 1, gpu(1))}).plan();

  EXPECT_THAT(matches_of(plan), ElementsAre("new@n1"));
}

TEST(lifecycle_nodes, only_nodes_that_the_pods_may_run_on_are_looked_at) {
  auto preemptor = wanting("new", 10, 1, gpu(1));
  preemptor.pods.node_selector = {{"kind", "a100"}};
  const auto in = with_spare()
                    .node("plain", gpu(1))
                    .node("closed", gpu(1), label{"kind", "a100"}, tainted{"maintenance"})
                    .node("n1", gpu(1), label{"kind", "a100"})
                    .pods("a", {"n1", "spare"}, prio(5), gpu(1));

  EXPECT_THAT(matches_of(lifecycle_world(in, {preemptor}).plan()), ElementsAre("new@n1"));
}

} // namespace reprieve::tests
