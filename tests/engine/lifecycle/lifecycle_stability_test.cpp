#include "tests/engine/lifecycle/lifecycle_world.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

/// What one cycle decides, the next ones decide again, until it is done
/// (docs/policies.md#delayed-actuation).
namespace reprieve::tests {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

namespace {

void begin_to_terminate(pod& p, time_point since) {
  p.phase = pod_phase::terminating;
  p.stop_told = since;
}

/// The plan leaves replica counts as they are.
void expect_no_new_disruption(const lifecycle_plan& plan) {
  EXPECT_THAT(plan.scale_downs, IsEmpty());
}

} // namespace

TEST(lifecycle_stability, one_match_walks_through_all_five_steps) {
  auto world = lifecycle_world(with_spare()
                                 .node("n1", gpu(1))
                                 .pods("a", {"n1", "spare"}, prio(1), gpu(1), created{1})
                                 .node("n2", gpu(1))
                                 .pods("b", {"n2", "spare"}, prio(2), gpu(1), created{2}),
                               {wanting("new", 10, 1, gpu(1)), wanting("a", 1, 0, gpu(1))});
  const auto goes_on = [&](victim_stage stage) {
    const auto plan = world.plan();
    EXPECT_THAT(matches_of(plan), ElementsAre("new@n1")) << to_string(stage);
    EXPECT_THAT(stages_of(plan), ElementsAre(Pair("a-g0-0-0", stage)));
    EXPECT_THAT(plan.memory.preempted, ElementsAre("a"));
    world.act_on(plan);
    return plan;
  };

  // 1. Its deployment is scaled down; until somebody acts, the pod is surplus.
  const auto first = goes_on(victim_stage::committed);
  EXPECT_THAT(first.scale_downs, ElementsAre(scale_down{"a-default", "a", "default", 2, 1}));
  world.deployment("a").lacking = 1;
  const auto counted = goes_on(victim_stage::surplus);
  expect_no_new_disruption(counted);
  EXPECT_THAT(awaited_in(counted), ElementsAre("a-g0-0-0"));
  world.pod_of("a-g0-0-0").phase = pod_phase::surplus;
  expect_no_new_disruption(goes_on(victim_stage::surplus));

  // 2. The scale-down is carried out, and the pod terminates.
  begin_to_terminate(world.pod_of("a-g0-0-0"), world.given.now);
  const auto in_grace = goes_on(victim_stage::terminating);
  expect_no_new_disruption(in_grace);
  EXPECT_THAT(in_grace.force_deletes, IsEmpty());
  EXPECT_THAT(awaited_in(in_grace), ElementsAre("a-g0-0-0"));

  // 3. When its grace period is over, it is marked for force delete.
  world.given.now = in_grace.look_again;
  const auto forced = goes_on(victim_stage::terminating);
  expect_no_new_disruption(forced);
  EXPECT_THAT(forced.force_deletes, ElementsAre("a-g0-0-0"));

  // 4. The force delete is under way.
  const auto deleting = goes_on(victim_stage::force_deleting);
  expect_no_new_disruption(deleting);
  EXPECT_THAT(deleting.force_deletes, IsEmpty());
  EXPECT_THAT(awaited_in(deleting), ElementsAre("a-g0-0-0"));

  // 5. The room is free, normal allocation has given it away, and the loser may try again.
  pod arrived;
  arrived.uid = arrived.name = "new-g0-0-0";
  arrived.workload = "new";
  arrived.node = "n1";
  arrived.phase = pod_phase::running;
  arrived.priority = 10;
  arrived.requests = world.pod_of("a-g0-0-0").requests;
  world.pod_of("a-g0-0-0") = arrived;
  world.deployment("new").lacking = 0;
  const auto after = world.plan();
  EXPECT_THAT(after.matches, IsEmpty());
  EXPECT_THAT(after.scale_downs, IsEmpty());
  EXPECT_THAT(after.memory.preempted, IsEmpty());
  EXPECT_THAT(why_nothing(after, "a"), ::testing::HasSubstr("short of gpu"));
}

TEST(lifecycle_stability, as_long_as_nothing_happens_every_cycle_decides_the_same) {
  auto world = lifecycle_world(with_spare()
                                 .node("n1", gpu(2))
                                 .pods("a", {"n1", "spare"}, prio(1), gpu(1))
                                 .pods("b", {"n1"}, prio(2), gpu(1), terminating{3590, 30})
                                 .node("n2", gpu(1))
                                 .pods("c", {"n2", "spare"}, prio(3), gpu(1)),
                               {wanting("new", 10, 2, gpu(1)), wanting("other", 10, 2, gpu(1))});
  const auto first = world.plan();
  EXPECT_EQ(world.plan(), first) << "the same input";
  world.act_on(first);
  const auto second = world.plan();

  EXPECT_THAT(first.matches, ::testing::SizeIs(3));
  EXPECT_EQ(matches_of(second), matches_of(first));
  EXPECT_EQ(victims_of(second), victims_of(first));
  expect_no_new_disruption(second);
  for (int cycle = 0; cycle < 3; ++cycle) {
    world.act_on(second);
    EXPECT_EQ(world.plan(), second) << cycle;
  }
}

TEST(lifecycle_stability, who_was_preempted_takes_no_room_elsewhere_until_its_pod_has_gone) {
  auto world =
    lifecycle_world(with_spare().node("n1", gpu(1)).pods("a", {"n1", "spare"}, prio(1), gpu(1)),
                    {wanting("new", 10, 1, gpu(1)), wanting("a", 1, 0, gpu(1))});
  world.act_on(world.plan());
  world.deployment("a").lacking = 1;
  world.deployment("new").pods.node_selector = {{"kind", "a100"}};
  world.nodes.back().labels = {{"kind", "a100"}};
  auto elsewhere = world.nodes.back();
  elsewhere.name = "n2";
  elsewhere.labels.clear();
  world.nodes.push_back(elsewhere);

  const auto waits = world.plan();
  world.act_on(waits);
  std::erase_if(world.pods, [](const pod& p) { return p.uid == "a-g0-0-0"; });
  world.deployment("new").lacking = 0;
  const auto gone = world.plan();

  EXPECT_THAT(matches_of(waits), ElementsAre("new@n1"));
  EXPECT_THAT(why_nothing(waits, "a"), ::testing::HasSubstr("makes room for new"));
  EXPECT_THAT(matches_of(gone), ElementsAre("a@n1"));
}

TEST(lifecycle_stability, a_victim_that_moved_on_stays_the_chosen_one_when_a_cheaper_one_appears) {
  auto world = lifecycle_world(with_spare()
                                 .node("n1", gpu(1))
                                 .pods("a", {"n1", "spare"}, prio(5), gpu(1))
                                 .node("n2", gpu(1))
                                 .pods("b", {"n2", "spare"}, prio(9), gpu(1)),
                               {wanting("new", 10, 1, gpu(1))});
  const auto first = world.plan();
  world.act_on(first);
  world.given.before = {};
  world.pod_of("b-g0-0-0").priority = 1;

  const auto second = world.plan();

  EXPECT_THAT(victims_of(first), ElementsAre("a-g0-0-0"));
  EXPECT_EQ(victims_of(second), victims_of(first));
  expect_no_new_disruption(second);
}

TEST(lifecycle_stability, the_pod_matched_at_the_scale_down_is_found_again_among_its_siblings) {
  auto world = lifecycle_world(with_spare()
                                 .node("n1", gpu(1))
                                 .node("n2", gpu(1))
                                 .node("n3", gpu(1))
                                 .pods("a", {"n1", "n2", "n3"}, prio(1), gpu(1), created{1}),
                               {wanting("new", 10, 2, gpu(1))});
  const auto first = world.plan();
  world.act_on(first);
  world.given.before = {};

  const auto second = world.plan();

  EXPECT_THAT(victims_of(first), ElementsAre("a-g0-0-1", "a-g0-0-2"));
  EXPECT_EQ(victims_of(second), victims_of(first));
  EXPECT_EQ(matches_of(second), matches_of(first));
  expect_no_new_disruption(second);
}

TEST(lifecycle_stability, a_sibling_that_could_not_go_does_not_stand_for_the_surplus) {
  auto world = lifecycle_world(with_spare()
                                 .node("n1", gpu(1))
                                 .pods("a", {"n1", "spare", "n2"}, prio(1), gpu(1), created{1})
                                 .node("n2", gpu(1)),
                               {wanting("new", 10, 1, gpu(1))});
  world.limits().opt_out_is_veto = true;
  world.pod_of("a-g0-0-2").opted_out = true;
  const auto first = world.plan();
  world.act_on(first);
  world.given.before = {};

  const auto second = world.plan();

  EXPECT_THAT(victims_of(first), ElementsAre("a-g0-0-0"));
  EXPECT_EQ(victims_of(second), victims_of(first));
}

TEST(lifecycle_stability, victims_of_one_match_may_move_on_at_different_times) {
  auto world = lifecycle_world(with_spare()
                                 .node("n1", gpu(3))
                                 .pods("a", {"n1", "spare"}, prio(1), gpu(1))
                                 .pods("b", {"n1", "spare"}, prio(3), gpu(1))
                                 .pods("c", {"n1", "spare"}, prio(5), gpu(1))
                                 .node("n2", gpu(3))
                                 .pods("d", {"n2", "spare"}, prio(6), gpu(3)),
                               {wanting("new", 10, 1, gpu(3))});
  const auto first = world.plan();
  world.act_on(first);
  world.given.before = {};

  // The most important of them goes first: by priority the node would look cheaper every time.
  for (const auto* uid : {"c-g0-0-0", "a-g0-0-0", "b-g0-0-0"}) {
    begin_to_terminate(world.pod_of(uid), world.given.now);
    const auto next = world.plan();
    EXPECT_EQ(matches_of(next), matches_of(first)) << uid;
    EXPECT_EQ(victims_of(next), victims_of(first)) << uid;
    expect_no_new_disruption(next);
  }
}

TEST(lifecycle_stability, who_was_preempted_does_not_preempt_back_when_its_priority_rises) {
  auto world = lifecycle_world(with_spare()
                                 .node("n1", gpu(1))
                                 .pods("a", {"n1", "spare"}, prio(1), gpu(1))
                                 .node("n2", gpu(1))
                                 .pods("new", {"n2", "spare"}, prio(10), gpu(1)),
                               {wanting("new", 10, 1, gpu(1)), wanting("a", 1, 0, gpu(1))});
  world.act_on(world.plan());
  world.deployment("a").priority = 20;
  world.deployment("a").lacking = 1;

  const auto counted = world.plan();
  begin_to_terminate(world.pod_of("a-g0-0-0"), world.given.now);
  const auto leaving = world.plan();

  for (const auto& plan : {counted, leaving}) {
    EXPECT_THAT(matches_of(plan), ElementsAre("new@n1"));
    EXPECT_THAT(plan.memory.preempted, ElementsAre("a"));
    expect_no_new_disruption(plan);
  }
}

TEST(lifecycle_stability, who_was_preempted_may_preempt_again_once_its_pods_have_gone) {
  auto world =
    lifecycle_world(with_spare().node("n1", gpu(1)).pods("b", {"n1", "spare"}, prio(1), gpu(1)),
                    {wanting("a", 5, 1, gpu(1))});
  world.given.before.preempted = {"a"};

  const auto plan = world.plan();

  EXPECT_THAT(matches_of(plan), ElementsAre("a@n1"));
  EXPECT_THAT(plan.memory.preempted, ElementsAre("b"));
}

TEST(lifecycle_stability, who_is_no_longer_matched_is_free_from_the_next_cycle_on) {
  auto world = lifecycle_world(with_spare()
                                 .node("n1", gpu(1))
                                 .pods("a", {"n1"}, prio(5), gpu(1), terminating{3599, 30})
                                 .node("n2", gpu(1))
                                 .pods("b", {"n2", "spare"}, prio(1), gpu(1)),
                               {wanting("a", 5, 1, gpu(1))});
  world.given.before.preempted = {"a"};

  const auto still_barred = world.plan();
  world.act_on(still_barred);
  const auto free_again = world.plan();

  EXPECT_THAT(still_barred.matches, IsEmpty());
  EXPECT_THAT(still_barred.memory.preempted, IsEmpty());
  EXPECT_THAT(matches_of(free_again), ElementsAre("a@n1"));
}

/// The one with more choice must not run off with the only victim of the other.
TEST(lifecycle_stability, a_preemptor_keeps_its_node_when_the_victim_of_another_moves_on_first) {
  auto narrow = wanting("narrow", 10, 1, gpu(1));
  narrow.pods.node_selector = {{"kind", "a100"}};
  auto world = lifecycle_world(with_spare()
                                 .node("n1", gpu(1))
                                 .pods("a", {"n1", "spare"}, prio(1), gpu(1))
                                 .node("n2", gpu(1), label{"kind", "a100"})
                                 .pods("b", {"n2", "spare"}, prio(2), gpu(1))
                                 .node("n3", gpu(1), label{"kind", "a100"})
                                 .pods("c", {"n3", "spare"}, prio(3), gpu(1)),
                               {wanting("wide", 11, 1, gpu(1)), narrow});
  const auto first = world.plan();
  world.act_on(first);
  begin_to_terminate(world.pod_of("b-g0-0-0"), world.given.now);

  const auto second = world.plan();

  EXPECT_THAT(matches_of(first), ElementsAre("narrow@n2", "wide@n1"));
  EXPECT_EQ(matches_of(second), matches_of(first));
  expect_no_new_disruption(second);
}

TEST(lifecycle_stability, an_equal_that_comes_later_does_not_take_what_another_waits_for) {
  auto world = lifecycle_world(with_spare()
                                 .node("n1", gpu(1))
                                 .pods("a", {"n1", "spare"}, prio(1), gpu(1))
                                 .node("n2", gpu(1))
                                 .pods("b", {"n2", "spare"}, prio(2), gpu(1)),
                               {wanting("waits", 10, 1, gpu(1))});
  world.act_on(world.plan());
  begin_to_terminate(world.pod_of("a-g0-0-0"), world.given.now);
  auto newcomer = wanting("newcomer", 10, 1, gpu(1));
  world.deployment("waits").submitted = at(2);
  newcomer.submitted = at(1);

  world.given.deployments.push_back(newcomer);
  const auto equal = world.plan();
  world.deployment("newcomer").priority = 11;
  const auto above = world.plan();

  EXPECT_THAT(matches_of(equal), ElementsAre("newcomer@n2", "waits@n1"));
  EXPECT_THAT(matches_of(above), ElementsAre("newcomer@n1", "waits@n2"));
}

TEST(lifecycle_stability, an_equal_that_lacks_more_does_not_take_what_another_waits_for) {
  auto first_of_both = wanting("early", 10, 1, gpu(1));
  first_of_both.submitted = at(1);
  auto other = wanting("late", 10, 1, gpu(1));
  other.submitted = at(2);
  auto world = lifecycle_world(with_spare()
                                 .node("n1", gpu(1))
                                 .pods("a", {"n1", "spare"}, prio(1), gpu(1))
                                 .node("n2", gpu(1))
                                 .pods("b", {"n2", "spare"}, prio(2), gpu(1))
                                 .node("n3", gpu(1))
                                 .pods("c", {"n3", "spare"}, prio(3), gpu(1)),
                               {first_of_both, other});
  const auto before = world.plan();
  world.act_on(before);
  world.deployment("early").lacking = 2;

  const auto after = world.plan();

  EXPECT_THAT(matches_of(before), ElementsAre("early@n1", "late@n2"));
  EXPECT_THAT(matches_of(after), ElementsAre("early@n1", "early@n3", "late@n2"));
}

TEST(lifecycle_stability, a_node_is_left_when_it_would_cost_a_new_victim) {
  auto world = lifecycle_world(with_spare()
                                 .node("n1", gpu(1))
                                 .pods("a", {"n1", "spare"}, prio(2), gpu(1))
                                 .node("n2", gpu(1))
                                 .pods("b", {"n2", "spare"}, prio(1), gpu(1)),
                               {wanting("new", 10, 1, gpu(1))});
  world.given.before.nominations = {{"new", "n1", {"a-g0-0-0"}}};

  EXPECT_THAT(matches_of(world.plan()), ElementsAre("new@n2"));
}

TEST(lifecycle_stability, a_node_that_is_lost_is_left) {
  auto world = lifecycle_world(with_spare()
                                 .node("n1", gpu(1))
                                 .pods("a", {"n1"}, prio(1), gpu(1), force_deleting)
                                 .node("n2", gpu(1))
                                 .pods("b", {"n2", "spare"}, prio(1), gpu(1)),
                               {wanting("new", 10, 1, gpu(1))});
  world.act_on(world.plan());
  EXPECT_THAT(world.given.before.nominations,
              ElementsAre(lifecycle_nomination{"new", "n1", {"a-g0-0-0"}}));
  std::ranges::find(world.nodes, "n1", &node::name)->ready = false;

  EXPECT_THAT(matches_of(world.plan()), ElementsAre("new@n2"));
}

TEST(lifecycle_stability, what_is_not_explained_is_decided_the_same) {
  auto world = lifecycle_world(with_spare()
                                 .node("n1", gpu(2))
                                 .pods("a", {"n1", "spare"}, prio(1), gpu(1))
                                 .pods("b", {"n1", "spare"}, prio(2), gpu(1)),
                               {wanting("new", 10, 3, gpu(1))});

  const auto told = world.plan();
  world.given.explain = false;
  const auto silent = world.plan();

  EXPECT_EQ(matches_of(silent), matches_of(told));
  EXPECT_EQ(silent.scale_downs, told.scale_downs);
  EXPECT_EQ(silent.memory, told.memory);
  EXPECT_THAT(silent.passed_over, IsEmpty());
}

// -- one preemption should not lead to another ---------------------------------------------------

TEST(lifecycle_propagation, a_victim_of_a_pod_with_one_gpu_finds_nobody_below_itself) {
  auto world = lifecycle_world(with_spare()
                                 .node("n1", gpu(2))
                                 .pods("a", {"n1", "spare"}, prio(1), gpu(1))
                                 .pods("b", {"n1", "spare"}, prio(3), gpu(1))
                                 .node("n2", gpu(1))
                                 .pods("c", {"n2", "spare"}, prio(2), gpu(1)),
                               {wanting("new", 10, 1, gpu(1))});
  const auto first = world.plan();
  ASSERT_THAT(victims_of(first), ElementsAre("a-g0-0-0"));

  world.given.deployments = {wanting("a", 1, 1, gpu(1))};

  EXPECT_THAT(world.plan().scale_downs, IsEmpty());
}

TEST(lifecycle_propagation, for_several_gpus_the_victims_are_as_unimportant_as_they_can_be) {
  const auto in = with_spare()
                    .node("n1", gpu(2))
                    .pods("top", {"n1", "spare"}, prio(8), gpu(2))
                    .node("n2", gpu(2))
                    .pods("low", {"n2", "spare"}, prio(1), gpu(1))
                    .pods("mid", {"n2", "spare"}, prio(7), gpu(1))
                    .node("n3", gpu(2))
                    .pods("fair", {"n3", "n3", "spare"}, prio(6), gpu(1));

  const auto plan = lifecycle_world(in, {wanting("new", 10, 1, gpu(2))}).plan();

  EXPECT_THAT(matches_of(plan), ElementsAre("new@n3"));
}

} // namespace reprieve::tests
