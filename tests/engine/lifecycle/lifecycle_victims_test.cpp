#include "tests/engine/lifecycle/lifecycle_world.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

/// Who makes room, in which order, and who never does (docs/policies.md#lifecycle).
namespace reprieve::tests {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

namespace {

/// `a` runs in the east and `b` in the west, each on the only node of one GPU there; `b` came last.
cluster east_and_west(const prio& of_a, const prio& of_b) {
  return cluster()
    .node("n1", gpu(1), in_cluster{"east"})
    .node("n2", gpu(1), in_cluster{"west"})
    .node("spare-e", gpu(8), in_cluster{"east"}, not_ready())
    .node("spare-w", gpu(8), in_cluster{"west"}, not_ready())
    .pods("a", {"n1", "spare-e"}, of_a, gpu(1), created{1})
    .pods("b", {"n2", "spare-w"}, of_b, gpu(1), created{2});
}

/// The victims of a pod with one GPU and priority 10.
std::set<std::string> victims_in(const cluster& in) {
  return victims_of(lifecycle_world(in, {wanting("new", 10, 1, gpu(1))}).plan());
}

} // namespace

// -- stages --------------------------------------------------------------------------------------

TEST(lifecycle_stages, a_force_deleting_pod_comes_before_a_terminating_one) {
  const auto in = two_nodes()
                    .pods("a", {"n1"}, prio(1), gpu(1), terminating{3590, 30})
                    .pods("b", {"n2"}, prio(9), gpu(1), force_deleting);

  EXPECT_THAT(victims_in(in), ElementsAre("b-g0-0-0"));
}

TEST(lifecycle_stages, a_terminating_pod_comes_before_a_surplus_one) {
  const auto in = two_nodes()
                    .pods("a", {"n1", "spare"}, prio(1), gpu(1), surplus)
                    .pods("b", {"n2"}, prio(9), gpu(1), terminating{3590, 30});

  EXPECT_THAT(victims_in(in), ElementsAre("b-g0-0-0"));
}

TEST(lifecycle_stages, a_surplus_pod_comes_before_a_committed_one) {
  const auto in = two_nodes()
                    .pods("a", {"n1", "spare"}, prio(1), gpu(1))
                    .pods("b", {"n2", "spare"}, prio(9), gpu(1), surplus);

  EXPECT_THAT(victims_in(in), ElementsAre("b-g0-0-0"));
}

TEST(lifecycle_stages, more_pods_than_committed_replicas_are_surplus_before_any_is_named) {
  auto world = lifecycle_world(two_nodes()
                                 .pods("a", {"n1", "spare"}, prio(1), gpu(1))
                                 .pods("b", {"n2", "spare"}, prio(9), gpu(1)),
                               {wanting("new", 10, 1, gpu(1))});
  world.share("b").committed = 1;

  const auto plan = world.plan();

  EXPECT_THAT(stages_of(plan), ElementsAre(Pair("b-g0-0-0", victim_stage::surplus)));
  EXPECT_THAT(plan.scale_downs, IsEmpty());
}

TEST(lifecycle_stages, only_as_many_pods_are_surplus_as_there_are_too_many) {
  auto world = lifecycle_world(two_nodes().pods("a", {"n1", "n2", "spare"}, prio(1), gpu(1)),
                               {wanting("new", 10, 2, gpu(1))});
  world.share("a").committed = 2;

  const auto plan = world.plan();

  EXPECT_THAT(stages_of(plan), ElementsAre(Pair("a-g0-0-0", victim_stage::committed),
                                           Pair("a-g0-0-1", victim_stage::surplus)));
  EXPECT_THAT(scaled_down_by(plan), ElementsAre(Pair("a", 1)));
}

TEST(lifecycle_stages, surplus_of_siblings_that_stay_stands_for_the_one_that_goes) {
  auto world = lifecycle_world(
    with_spare().node("n1", gpu(4)).pods("a", {"n1", "n1", "spare"}, prio(1), gpu(1)),
    {wanting("new", 10, 1, gpu(3))});
  world.pod_of("a-g0-0-0").requests = {{"gpu", 3000}};
  world.share("a").committed = 2;

  const auto plan = world.plan();

  EXPECT_THAT(stages_of(plan), ElementsAre(Pair("a-g0-0-0", victim_stage::surplus)));
  EXPECT_THAT(plan.scale_downs, IsEmpty());
}

TEST(lifecycle_stages, a_victim_of_an_earlier_decision_is_waited_for_like_surplus) {
  const auto in = two_nodes()
                    .pods("a", {"n1", "spare"}, prio(1), gpu(1))
                    .pods("b", {"n2"}, prio(9), gpu(1), chosen_already());

  EXPECT_THAT(victims_in(in), ElementsAre("b-g0-0-0"));
}

// -- ties ----------------------------------------------------------------------------------------

TEST(lifecycle_ties, the_pod_of_lower_priority_goes) {
  const auto in = two_nodes()
                    .pods("a", {"n1", "spare"}, prio(1), gpu(1), created{1})
                    .pods("b", {"n2", "spare"}, prio(2), gpu(1), created{2});

  EXPECT_THAT(victims_in(in), ElementsAre("a-g0-0-0"));
}

TEST(lifecycle_ties, then_the_pod_where_the_preemptor_gives_the_lower_score) {
  auto preemptor = wanting("new", 10, 1, gpu(1));
  preemptor.scores = {{"east", 5}, {"west", 7}};

  const auto plan = lifecycle_world(east_and_west(prio(1), prio(1)), {preemptor}).plan();

  EXPECT_THAT(victims_of(plan), ElementsAre("a-g0-0-0"));
}

TEST(lifecycle_ties, then_the_pod_created_last) {
  const auto in = two_nodes()
                    .pods("a", {"n1", "spare"}, prio(1), gpu(1), created{2})
                    .pods("b", {"n2", "spare"}, prio(1), gpu(1), created{1});

  EXPECT_THAT(victims_in(in), ElementsAre("a-g0-0-0"));
}

TEST(lifecycle_ties, then_the_pod_with_the_higher_name_whatever_its_uid) {
  const auto in = two_nodes()
                    .pods("a", {"n1", "spare"}, prio(1), gpu(1), called{"z"})
                    .pods("b", {"n2", "spare"}, prio(1), gpu(1), called{"y"});

  EXPECT_THAT(victims_in(in), ElementsAre("a-g0-0-0"));
}

TEST(lifecycle_ties, priority_decides_before_the_score) {
  auto preemptor = wanting("new", 10, 1, gpu(1));
  preemptor.scores = {{"east", 5}, {"west", 7}};

  const auto plan = lifecycle_world(east_and_west(prio(2), prio(1)), {preemptor}).plan();

  EXPECT_THAT(victims_of(plan), ElementsAre("b-g0-0-0"));
}

TEST(lifecycle_ties, the_score_is_the_preemptors_and_not_that_of_the_victims_own_placement) {
  auto to_west = wanting("new", 10, 1, gpu(1));
  to_west.scores = {{"east", 7}, {"west", 5}};
  auto to_east = to_west;
  to_east.scores = {{"east", 5}, {"west", 7}};
  auto world = lifecycle_world(east_and_west(prio(1), prio(1)));
  world.share("a", "east").score = 6;
  world.share("b", "west").score = 9;

  world.given.deployments = {to_west};
  const auto west = world.plan();
  world.given.deployments = {to_east};
  const auto east = world.plan();

  EXPECT_THAT(victims_of(west), ElementsAre("b-g0-0-0"));
  EXPECT_THAT(victims_of(east), ElementsAre("a-g0-0-0"));
}

TEST(lifecycle_ties, they_decide_within_every_stage) {
  for (const auto phase : {pod_phase::force_deleting, pod_phase::terminating, pod_phase::surplus,
                           pod_phase::running}) {
    const auto between = [&](const auto& of_a, const auto& of_b) {
      return victims_in(two_nodes()
                          .pods("a", {"n1", "spare"}, gpu(1), in_phase{phase}, of_a)
                          .pods("b", {"n2", "spare"}, gpu(1), in_phase{phase}, of_b));
    };

    EXPECT_THAT(between(prio(2), prio(1)), ElementsAre("b-g0-0-0")) << "lower priority";
    EXPECT_THAT(between(prio(1), prio(2)), ElementsAre("a-g0-0-0")) << "lower priority";
    EXPECT_THAT(between(created{1}, created{2}), ElementsAre("b-g0-0-0")) << "created last";
    EXPECT_THAT(between(created{2}, created{1}), ElementsAre("a-g0-0-0")) << "created last";
    EXPECT_THAT(between(called{"y"}, called{"z"}), ElementsAre("b-g0-0-0")) << "higher name";
    EXPECT_THAT(between(called{"z"}, called{"y"}), ElementsAre("a-g0-0-0")) << "higher name";
  }
}

// -- the last replica ----------------------------------------------------------------------------

TEST(lifecycle_last_replica, it_never_goes) {
  const auto world = lifecycle_world(
    two_nodes().pods("a", {"n1"}, prio(1), gpu(1)).pods("b", {"n2", "spare"}, prio(9), gpu(1)),
    {wanting("new", 10, 2, gpu(1))});

  const auto plan = world.plan();

  EXPECT_THAT(victims_of(plan), ElementsAre("b-g0-0-0"));
  EXPECT_THAT(why_stays(plan, "a-g0-0-0"), HasSubstr("without a replica in default"));
}

TEST(lifecycle_last_replica, each_placement_has_its_own) {
  auto preemptor = wanting("new", 10, 1, gpu(1));
  preemptor.scores = {{"east", 1}, {"west", 1}};
  const auto in = cluster()
                    .node("n1", gpu(1), in_cluster{"east"})
                    .node("n2", gpu(1), in_cluster{"west"})
                    .pods("a", {"n1", "n2"}, prio(1), gpu(1));

  EXPECT_THAT(lifecycle_world(in, {preemptor}).plan().matches, IsEmpty());
}

TEST(lifecycle_last_replica, earlier_selections_of_the_cycle_count) {
  const auto in = two_nodes().pods("a", {"n1", "n2"}, prio(1), gpu(1));

  const auto plan = lifecycle_world(in, {wanting("new", 10, 2, gpu(1))}).plan();

  EXPECT_THAT(victims_of(plan), ElementsAre("a-g0-0-1"));
  ASSERT_EQ(plan.scale_downs.size(), 1u);
  EXPECT_EQ(plan.scale_downs[0], (scale_down{"a-default", "a", "default", 2, 1}));
}

TEST(lifecycle_last_replica, selections_for_other_preemptors_count_too) {
  const auto in = two_nodes().pods("a", {"n1", "n2"}, prio(1), gpu(1));

  const auto plan =
    lifecycle_world(in, {wanting("high", 11, 1, gpu(1)), wanting("low", 10, 1, gpu(1))}).plan();

  EXPECT_THAT(matches_of(plan), ElementsAre("high@n2"));
}

TEST(lifecycle_last_replica, a_node_never_gives_more_of_a_deployment_than_may_go) {
  const auto in = cluster().node("n1", gpu(2)).pods("a", {"n1", "n1"}, prio(1), gpu(1));

  EXPECT_THAT(lifecycle_world(in, {wanting("new", 10, 1, gpu(2))}).plan().matches, IsEmpty());
}

TEST(lifecycle_last_replica, pods_already_leaving_are_exempt) {
  const auto in = two_nodes().pods("a", {"n1"}, prio(1), gpu(1), terminating{0, 30});

  EXPECT_THAT(victims_in(in), IsEmpty()) << "n2 is free";
  EXPECT_THAT(victims_of(lifecycle_world(in, {wanting("new", 10, 2, gpu(1))}).plan()),
              ElementsAre("a-g0-0-0"));
}

TEST(lifecycle_last_replica, surplus_that_is_the_last_may_take_long_to_go_and_is_left_alone) {
  const auto in = two_nodes()
                    .pods("a", {"n1"}, prio(1), gpu(1), surplus)
                    .pods("b", {"n2", "spare"}, prio(9), gpu(1));

  EXPECT_THAT(victims_in(in), ElementsAre("b-g0-0-0"));
}

TEST(lifecycle_last_replica, surplus_elsewhere_does_not_make_it_go) {
  auto world = lifecycle_world(two_nodes().pods("a", {"n1", "spare"}, prio(1), gpu(1)),
                               {wanting("new", 10, 2, gpu(1))});
  world.pod_of("a-g0-0-1").phase = pod_phase::surplus;
  world.share("a").committed = 1;

  const auto plan = world.plan();

  EXPECT_THAT(matches_of(plan), ElementsAre("new@n2"));
  EXPECT_THAT(plan.scale_downs, IsEmpty());
}

// -- who never goes ------------------------------------------------------------------------------

TEST(lifecycle_candidates, equal_and_higher_priorities_are_never_scaled_down) {
  const auto world = lifecycle_world(two_nodes()
                                       .pods("a", {"n1", "spare"}, prio(10), gpu(1))
                                       .pods("b", {"n2", "spare"}, prio(11), gpu(1)),
                                     {wanting("new", 10, 1, gpu(1))});

  const auto plan = world.plan();

  EXPECT_THAT(plan.matches, IsEmpty());
  EXPECT_THAT(plan.scale_downs, IsEmpty());
  EXPECT_THAT(why_nothing(plan, "new"), HasSubstr("2 of 2 nodes that suit it are short of gpu"));
}

TEST(lifecycle_candidates, a_pod_counts_with_at_least_the_priority_of_its_deployment) {
  const auto world = lifecycle_world(two_nodes().pods("a", {"n1", "n2", "spare"}, prio(1), gpu(1)),
                                     {wanting("new", 10, 1, gpu(1)), wanting("a", 10, 0, gpu(1))});

  EXPECT_THAT(world.plan().matches, IsEmpty());
}

TEST(lifecycle_candidates, what_leaves_anyway_may_be_of_any_priority) {
  const auto in = two_nodes()
                    .pods("a", {"n1"}, prio(20), gpu(1), terminating{0, 30})
                    .pods("b", {"n2", "spare"}, prio(1), gpu(1));

  EXPECT_THAT(victims_in(in), ElementsAre("a-g0-0-0"));
}

TEST(lifecycle_candidates, surplus_may_be_of_any_priority) {
  auto world = lifecycle_world(two_nodes()
                                 .pods("named", {"n1", "spare"}, prio(10), gpu(1))
                                 .pods("counted", {"n2", "spare"}, prio(20), gpu(1)),
                               {wanting("new", 10, 2, gpu(1))});
  world.pod_of("named-g0-0-0").phase = pod_phase::surplus;
  world.share("named").committed = 1;
  world.share("counted").committed = 1;

  const auto plan = world.plan();

  EXPECT_THAT(stages_of(plan), ElementsAre(Pair("counted-g0-0-0", victim_stage::surplus),
                                           Pair("named-g0-0-0", victim_stage::surplus)));
  EXPECT_THAT(plan.scale_downs, IsEmpty());
}

TEST(lifecycle_candidates, daemons_never_go) {
  const auto in = two_nodes()
                    .pods("a", {"n1", "spare"}, prio(1), gpu(1), daemon())
                    .pods("b", {"n2"}, prio(1), gpu(1), daemon(), force_deleting);

  EXPECT_THAT(victims_in(in), IsEmpty());
}

TEST(lifecycle_candidates, protected_members_never_go) {
  const auto world =
    lifecycle_world(two_nodes()
                      .pods("a", {"n1", "spare"}, prio(1), gpu(1), protected_index{0})
                      .pods("b", {"n2", "spare"}, prio(2), gpu(1), protected_index{0}, surplus),
                    {wanting("new", 10, 1, gpu(1))});

  const auto plan = world.plan();

  EXPECT_THAT(plan.matches, IsEmpty());
  EXPECT_THAT(why_stays(plan, "a-g0-0-0"), HasSubstr("protected"));
}

TEST(lifecycle_candidates, replicas_that_go_whole_are_not_taken_apart) {
  const auto in = two_nodes().group("a", {"n1", "n2", "spare"}, prio(1), gpu(1));

  EXPECT_THAT(victims_in(in), IsEmpty());
}

TEST(lifecycle_candidates, without_a_placement_there_is_nothing_to_scale_down) {
  auto world = lifecycle_world(two_nodes()
                                 .pods("job", {"n1", "spare"}, prio(1), gpu(1))
                                 .pods("b", {"n2", "spare"}, prio(9), gpu(1)),
                               {wanting("new", 10, 2, gpu(1))});
  std::erase_if(world.given.placements, [](const auto& p) { return p.deployment == "job"; });

  const auto plan = world.plan();

  EXPECT_THAT(victims_of(plan), ElementsAre("b-g0-0-0"));
  EXPECT_THAT(why_stays(plan, "job-g0-0-0"), HasSubstr("no placement"));
}

} // namespace reprieve::tests
