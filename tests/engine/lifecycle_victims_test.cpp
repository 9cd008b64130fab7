#include "tests/engine/lifecycle_world.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

/// Who makes room, in which order, and who never does (seed 000; DESIGN 3.3, 3.7).
namespace reprieve::tests {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

namespace {

/// And nodes `n1` and `n2` of one GPU.
cluster two_nodes() {
  return with_spare().node("n1", gpu(1)).node("n2", gpu(1));
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
  const auto in = cluster()
                    .node("n1", gpu(1), in_cluster{"east"})
                    .node("n2", gpu(1), in_cluster{"west"})
                    .node("spare-e", gpu(8), in_cluster{"east"}, not_ready())
                    .node("spare-w", gpu(8), in_cluster{"west"}, not_ready())
                    .pods("a", {"n1", "spare-e"}, prio(1), gpu(1), created{1})
                    .pods("b", {"n2", "spare-w"}, prio(1), gpu(1), created{2});

  EXPECT_THAT(victims_of(lifecycle_world(in, {preemptor}).plan()), ElementsAre("a-g0-0-0"));
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

TEST(lifecycle_ties, they_decide_within_every_stage) {
  const auto in = two_nodes()
                    .pods("a", {"n1"}, prio(2), gpu(1), force_deleting)
                    .pods("b", {"n2"}, prio(1), gpu(1), force_deleting);

  EXPECT_THAT(victims_in(in), ElementsAre("b-g0-0-0"));
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

// -- guards --------------------------------------------------------------------------------------

TEST(lifecycle_guards, who_has_not_run_for_the_minimum_runtime_stays) {
  auto world = lifecycle_world(two_nodes()
                                 .pods("a", {"n1", "spare"}, prio(1), gpu(1), started{3000})
                                 .pods("b", {"n2", "spare"}, prio(9), gpu(1), started{0}),
                               {wanting("new", 10, 2, gpu(1))});
  world.limits().minimum_runtime = std::chrono::minutes{15};

  const auto plan = world.plan();

  EXPECT_THAT(victims_of(plan), ElementsAre("b-g0-0-0"));
  EXPECT_THAT(why_stays(plan, "a-g0-0-0"), HasSubstr("has run for 10m"));
}

TEST(lifecycle_guards, who_asks_for_a_minimum_runtime_gets_it) {
  const auto asks = [](pod& p) { p.minimum_runtime = std::chrono::hours{2}; };
  const auto world =
    lifecycle_world(two_nodes()
                      .pods("a", {"n1", "spare"}, prio(1), gpu(1), started{0}, asks)
                      .pods("b", {"n2", "spare"}, prio(9), gpu(1), started{0}),
                    {wanting("new", 10, 2, gpu(1))});

  const auto plan = world.plan();

  EXPECT_THAT(victims_of(plan), ElementsAre("b-g0-0-0"));
  EXPECT_THAT(why_stays(plan, "a-g0-0-0"), HasSubstr("minimum runtime of 2h"));
}

TEST(lifecycle_guards, an_opt_out_counts_only_where_it_is_a_veto) {
  auto world = lifecycle_world(two_nodes()
                                 .pods("a", {"n1", "spare"}, prio(1), gpu(1), opted_out())
                                 .pods("b", {"n2", "spare"}, prio(9), gpu(1)),
                               {wanting("new", 10, 1, gpu(1))});

  const auto without = world.plan();
  world.limits().opt_out_is_veto = true;
  const auto with = world.plan();

  EXPECT_THAT(victims_of(without), ElementsAre("a-g0-0-0"));
  EXPECT_THAT(victims_of(with), ElementsAre("b-g0-0-0"));
}

TEST(lifecycle_guards, they_do_not_stand_in_the_way_of_what_leaves_anyway) {
  auto world = lifecycle_world(
    two_nodes()
      .pods("a", {"n1"}, prio(1), gpu(1), opted_out(), started{3590}, terminating{3599, 30})
      .pods("b", {"n2", "spare"}, prio(1), gpu(1), opted_out(), started{3590}, surplus),
    {wanting("new", 10, 2, gpu(1))});
  auto& limits = world.limits();
  limits.opt_out_is_veto = true;
  limits.minimum_runtime = std::chrono::hours{1};
  limits.victims_per_decision = 0;

  EXPECT_THAT(victims_of(world.plan()), ElementsAre("a-g0-0-0", "b-g0-0-0"));
}

TEST(lifecycle_guards, a_match_scales_down_no_more_than_a_decision_may_have_victims) {
  auto world = lifecycle_world(cluster()
                                 .node("n1", gpu(2))
                                 .node("n2", gpu(2))
                                 .node("spare", gpu(64), not_ready())
                                 .pods("small", {"n1", "n1", "spare"}, prio(1), gpu(1))
                                 .pods("large", {"n2", "spare"}, prio(9), gpu(2)),
                               {wanting("new", 10, 1, gpu(2))});
  world.limits().victims_per_decision = 1;

  const auto first = world.plan();
  world.pod_of("large-g0-0-0").priority = 10;
  const auto none = world.plan();

  EXPECT_THAT(victims_of(first), ElementsAre("large-g0-0-0"));
  EXPECT_THAT(none.matches, IsEmpty());
}

} // namespace reprieve::tests
