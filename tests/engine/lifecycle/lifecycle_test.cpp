#include "tests/engine/lifecycle/lifecycle_world.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

/// Who gets something in the lifecycle phase, and what is done about it
/// (docs/policies.md#lifecycle).
namespace reprieve::tests {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

namespace {

/// Both lack as many pods of one GPU. The less important one has waited longer.
std::vector<lifecycle_deployment> low_then_high(std::int32_t lacking) {
  auto low = wanting("low", 10, lacking, gpu(1));
  low.submitted = at(1);
  auto high = wanting("high", 11, lacking, gpu(1));
  high.submitted = at(2);
  return {low, high};
}

} // namespace

// -- preemptors ----------------------------------------------------------------------------------

TEST(lifecycle_preemptors, the_highest_priority_goes_first) {
  const auto in = with_spare().node("n1", gpu(1)).pods("a", {"n1", "spare"}, prio(1), gpu(1));

  const auto plan = lifecycle_world(in, low_then_high(1)).plan();

  EXPECT_THAT(matches_of(plan), ElementsAre("high@n1"));
  EXPECT_THAT(why_nothing(plan, "low"), HasSubstr("short of gpu"));
  EXPECT_THAT(why_stays(plan, "a-g0-0-0"), HasSubstr("makes room for high already"));
}

TEST(lifecycle_preemptors, among_equals_the_earlier_goes_first_and_then_the_lower_name) {
  auto late = wanting("a", 10, 1, gpu(1));
  late.submitted = at(2);
  auto early = wanting("c", 10, 1, gpu(1));
  early.submitted = at(1);
  auto twin = wanting("b", 10, 1, gpu(1));
  twin.submitted = at(1);
  const auto in =
    with_spare().node("n1", gpu(2)).pods("low", {"n1", "n1", "spare"}, prio(1), gpu(1));

  const auto plan = lifecycle_world(in, {late, early, twin}).plan();

  EXPECT_THAT(matches_of(plan), ElementsAre("b@n1", "c@n1"));
  EXPECT_EQ(plan.matches[0].deployment, "b");
}

TEST(lifecycle_preemptors, room_that_has_become_free_goes_to_the_highest_priority) {
  const auto in =
    with_spare().node("n1", gpu(1)).node("n2", gpu(1)).pods("a", {"n2", "spare"}, prio(1), gpu(1));

  const auto plan = lifecycle_world(in, low_then_high(1)).plan();

  EXPECT_THAT(matches_of(plan), ElementsAre("high@n1", "low@n2"));
  EXPECT_THAT(scaled_down_by(plan), ElementsAre(Pair("a", 1)));
}

TEST(lifecycle_preemptors, one_keeps_its_priority_however_much_it_gets) {
  const auto in = with_spare().node("n1", gpu(2)).pods("a", {"n1", "n1", "spare"}, prio(1), gpu(1));

  const auto plan = lifecycle_world(in, low_then_high(2)).plan();

  EXPECT_THAT(matches_of(plan), ElementsAre("high@n1", "high@n1"));
}

TEST(lifecycle_preemptors, a_victim_keeps_its_priority_however_much_it_loses) {
  const auto in = with_spare()
                    .node("n1", gpu(3))
                    .pods("a", {"n1", "n1", "spare"}, prio(1), gpu(1))
                    .pods("b", {"n1", "spare"}, prio(2), gpu(1));

  const auto plan = lifecycle_world(in, {wanting("new", 10, 2, gpu(1))}).plan();

  EXPECT_THAT(scaled_down_by(plan), ElementsAre(Pair("a", 2)));
}

TEST(lifecycle_preemptors, two_never_preempt_each_other) {
  auto world = lifecycle_world(with_spare()
                                 .node("n1", gpu(1))
                                 .pods("mid", {"n1", "spare"}, prio(5), gpu(1))
                                 .node("n2", gpu(1))
                                 .pods("high", {"n2", "spare"}, prio(1), gpu(1)),
                               {wanting("mid", 5, 1, gpu(1)), wanting("high", 10, 1, gpu(1))});

  const auto both = world.plan();
  world.deployment("high").lacking = 0;
  const auto mid_alone = world.plan();

  EXPECT_THAT(matches_of(both), ElementsAre("high@n1"));
  EXPECT_THAT(scaled_down_by(both), ElementsAre(Pair("mid", 1)));
  EXPECT_THAT(mid_alone.matches, IsEmpty()) << "though a pod of the other says 1 of itself";
}

TEST(lifecycle_preemptors, what_the_phase_gave_to_one_is_not_taken_for_another) {
  const auto in = with_spare().node("n1", gpu(3)).pods("a", {"n1", "spare"}, prio(1), gpu(2));

  const auto plan =
    lifecycle_world(in, {wanting("first", 12, 1, gpu(1)), wanting("second", 11, 1, gpu(1)),
                         wanting("third", 10, 2, gpu(1))})
      .plan();

  EXPECT_THAT(matches_of(plan), ElementsAre("first@n1", "second@n1", "third@n1"));
  EXPECT_THAT(victims_of(plan), ElementsAre("a-g0-0-0"));
  EXPECT_THAT(why_nothing(plan, "third"), HasSubstr("short of gpu"));
}

TEST(lifecycle_preemptors, a_victim_and_its_room_are_given_once) {
  const auto in = with_spare().node("n1", gpu(1)).pods("a", {"n1", "spare"}, prio(1), gpu(1));

  const auto plan = lifecycle_world(in, {wanting("new", 10, 3, gpu(1))}).plan();

  EXPECT_THAT(plan.matches, SizeIs(1));
  ASSERT_THAT(plan.unmatched, SizeIs(1));
  EXPECT_EQ(plan.unmatched[0].pods, 2);
}

TEST(lifecycle_preemptors, what_a_victim_leaves_over_serves_the_next) {
  const auto in = with_spare()
                    .node("n1", gpu(2))
                    .pods("a", {"n1", "spare"}, prio(1), gpu(2))
                    .node("n2", gpu(1))
                    .pods("b", {"n2", "spare"}, prio(2), gpu(1));

  const auto plan =
    lifecycle_world(in, {wanting("new", 10, 1, gpu(1)), wanting("other", 9, 1, gpu(1))}).plan();

  EXPECT_THAT(matches_of(plan), ElementsAre("new@n1", "other@n1"));
  EXPECT_THAT(scaled_down_by(plan), ElementsAre(Pair("a", 1)));
}

TEST(lifecycle_preemptors, one_that_may_not_preempt_still_gets_what_is_free) {
  auto meek = wanting("meek", 10, 2, gpu(1));
  meek.may_preempt = false;
  const auto in = with_spare().node("n1", gpu(2)).pods("a", {"n1", "spare"}, prio(1), gpu(1));

  const auto plan = lifecycle_world(in, {meek}).plan();

  EXPECT_THAT(matches_of(plan), ElementsAre("meek@n1"));
  EXPECT_THAT(victims_of(plan), IsEmpty());
  ASSERT_THAT(plan.unmatched, SizeIs(1));
  EXPECT_EQ(plan.unmatched[0].pods, 1);
}

TEST(lifecycle_preemptors, one_that_may_not_preempt_waits_for_nobody_who_leaves) {
  auto meek = wanting("meek", 10, 1, gpu(1));
  meek.may_preempt = false;
  const auto in =
    with_spare().node("n1", gpu(1)).pods("a", {"n1"}, prio(1), gpu(1), terminating{0, 30});

  const auto plan = lifecycle_world(in, {meek}).plan();

  EXPECT_THAT(plan.matches, IsEmpty());
  EXPECT_THAT(plan.force_deletes, IsEmpty()) << "its grace is over, but that is for preemptors";
}

TEST(lifecycle_preemptors, one_that_may_not_preempt_takes_nobody) {
  auto preemptor = wanting("meek", 10, 1, gpu(1));
  preemptor.may_preempt = false;
  const auto in = with_spare().node("n1", gpu(1)).pods("a", {"n1", "spare"}, prio(1), gpu(1));

  const auto plan = lifecycle_world(in, {preemptor}).plan();

  EXPECT_THAT(plan.matches, IsEmpty());
  EXPECT_THAT(why_nothing(plan, "meek"), HasSubstr("never preempts"));
}

TEST(lifecycle_preemptors, one_that_was_preempted_gets_nothing_in_this_phase) {
  const auto in = with_spare()
                    .node("n1", gpu(1))
                    .pods("mid", {"n1", "spare"}, prio(5), gpu(1))
                    .node("n2", gpu(1))
                    .pods("low", {"n2"}, prio(1), gpu(1), terminating{3599, 30});
  auto only_n1 = wanting("high", 10, 1, gpu(1));
  only_n1.pods.node_selector = {{"kind", "a100"}};
  auto world = lifecycle_world(in, {only_n1, wanting("mid", 5, 1, gpu(1))});
  world.nodes[1].labels = {{"kind", "a100"}};

  const auto plan = world.plan();

  EXPECT_THAT(matches_of(plan), ElementsAre("high@n1"));
  EXPECT_THAT(why_nothing(plan, "mid"), HasSubstr("makes room for high"));
  EXPECT_THAT(plan.memory.preempted, ElementsAre("mid"));
}

TEST(lifecycle_preemptors, a_matched_pod_at_any_stage_makes_its_deployment_a_preempted_one) {
  for (const auto phase : {pod_phase::force_deleting, pod_phase::terminating, pod_phase::surplus,
                           pod_phase::running}) {
    const auto in = with_spare()
                      .node("n1", gpu(1))
                      .pods("mid", {"n1", "spare"}, prio(5), gpu(1), in_phase{phase})
                      .node("n2", gpu(1))
                      .pods("low", {"n2", "spare"}, prio(4), gpu(1), surplus);
    auto high = wanting("high", 10, 1, gpu(1));
    auto mid = wanting("mid", 5, 1, gpu(1));
    if (phase == pod_phase::running || phase == pod_phase::surplus)
      high.pods.node_selector = {{"kind", "a100"}};
    auto world = lifecycle_world(in, {high, mid});
    world.nodes[1].labels = {{"kind", "a100"}};

    const auto plan = world.plan();

    EXPECT_THAT(matches_of(plan), ElementsAre("high@n1"));
    EXPECT_THAT(plan.memory.preempted, ElementsAre("mid"));
  }
}

TEST(lifecycle_preemptors, a_more_important_one_need_not_wait_for_who_waits_for_its_pods) {
  const auto in =
    with_spare().node("n1", gpu(1)).pods("high", {"n1"}, prio(20), gpu(1), terminating{3599, 30});

  const auto plan =
    lifecycle_world(in, {wanting("low", 10, 1, gpu(1)), wanting("high", 20, 0, gpu(1))}).plan();

  EXPECT_THAT(matches_of(plan), ElementsAre("low@n1"));
  EXPECT_THAT(plan.memory.preempted, IsEmpty());
}

TEST(lifecycle_preemptors, the_room_that_other_work_leaves_is_used_too) {
  auto world = lifecycle_world(
    with_spare().node("n1", gpu(1)).pods("job", {"n1"}, prio(1), gpu(1), terminating{3599, 30}),
    {wanting("new", 10, 1, gpu(1))});
  world.given.placements.clear();

  const auto plan = world.plan();

  EXPECT_THAT(matches_of(plan), ElementsAre("new@n1"));
  EXPECT_THAT(plan.memory.preempted, IsEmpty()) << "it is no deployment";
}

TEST(lifecycle_preemptors, one_waits_for_its_own_leaving_pod_rather_than_preempt) {
  const auto in = with_spare()
                    .node("n1", gpu(1))
                    .pods("new", {"n1"}, prio(10), gpu(1), terminating{3599, 30})
                    .node("n2", gpu(1))
                    .pods("a", {"n2", "spare"}, prio(1), gpu(1));

  const auto plan = lifecycle_world(in, {wanting("new", 10, 1, gpu(1))}).plan();

  EXPECT_THAT(matches_of(plan), ElementsAre("new@n1"));
  EXPECT_THAT(plan.memory.preempted, IsEmpty());
}

TEST(lifecycle_preemptors, the_one_that_asks_for_what_no_node_has_finds_nothing) {
  const auto in = with_spare().node("n1", gpu(1)).pods("a", {"n1", "spare"}, prio(1), gpu(1));
  auto elsewhere = wanting("elsewhere", 10, 1, gpu(1));
  elsewhere.scores = {{"moon", 1}};

  const auto plan = lifecycle_world(in, {wanting("new", 10, 1, memory(1)), elsewhere}).plan();

  EXPECT_THAT(plan.matches, IsEmpty());
  EXPECT_THAT(why_nothing(plan, "new"), HasSubstr("no node has any memory"));
  EXPECT_THAT(why_nothing(plan, "elsewhere"), HasSubstr("no node in its clusters suits it"));
}

// -- what is done --------------------------------------------------------------------------------

TEST(lifecycle_actions, a_committed_victim_means_a_scale_down_and_nothing_else) {
  const auto in =
    with_spare().node("n1", gpu(1)).pods("a", {"n1", "spare", "spare"}, prio(1), gpu(1));

  const auto plan = lifecycle_world(in, {wanting("new", 10, 1, gpu(1))}).plan();

  EXPECT_THAT(plan.scale_downs, ElementsAre(scale_down{"a-default", "a", "default", 3, 2}));
  EXPECT_THAT(plan.force_deletes, IsEmpty());
  EXPECT_THAT(plan.awaited, IsEmpty());
}

TEST(lifecycle_actions, a_preemptor_is_not_scaled_up) {
  auto world = lifecycle_world(with_spare()
                                 .node("n1", gpu(1))
                                 .pods("a", {"n1", "spare"}, prio(1), gpu(1))
                                 .pods("new", {"spare"}, prio(10), gpu(1))
                                 .node("n2", gpu(1)),
                               {wanting("new", 10, 2, gpu(1))});

  const auto plan = world.plan();

  EXPECT_THAT(matches_of(plan), ElementsAre("new@n1", "new@n2")) << "one of them has room already";
  EXPECT_THAT(plan.scale_downs, ElementsAre(scale_down{"a-default", "a", "default", 2, 1}));
}

TEST(lifecycle_actions, replicas_that_have_no_pod_yet_are_given_up_first) {
  auto world = lifecycle_world(
    with_spare().node("n1", gpu(1)).pods("a", {"n1", "spare", "spare"}, prio(1), gpu(1)),
    {wanting("new", 10, 1, gpu(1))});
  world.share("a").committed = 5;

  EXPECT_THAT(world.plan().scale_downs, ElementsAre(scale_down{"a-default", "a", "default", 5, 2}));
}

TEST(lifecycle_actions, force_deleting_and_surplus_pods_are_waited_for) {
  const auto in = with_spare()
                    .node("n1", gpu(2))
                    .pods("a", {"n1"}, prio(1), gpu(1), force_deleting)
                    .pods("b", {"n1", "spare"}, prio(1), gpu(1), surplus);

  const auto plan = lifecycle_world(in, {wanting("new", 10, 1, gpu(2))}).plan();

  EXPECT_THAT(awaited_in(plan), ElementsAre("a-g0-0-0", "b-g0-0-0"));
  EXPECT_THAT(plan.scale_downs, IsEmpty());
  EXPECT_THAT(plan.force_deletes, IsEmpty());
}

TEST(lifecycle_actions, a_matched_terminating_pod_is_waited_for_until_its_grace_is_over) {
  auto world = lifecycle_world(
    with_spare().node("n1", gpu(1)).pods("a", {"n1"}, prio(1), gpu(1), terminating{3590, 30}),
    {wanting("new", 10, 1, gpu(1))});
  world.pod_of("a-g0-0-0").checkpoint_time = std::chrono::seconds{5};

  world.given.now = at(3624);
  const auto before = world.plan();
  world.given.now = at(3625);
  const auto after = world.plan();

  EXPECT_THAT(before.awaited,
              ElementsAre(awaited_pod{"a-g0-0-0", "n1", victim_stage::terminating, at(3625)}));
  EXPECT_EQ(before.look_again, at(3625));
  EXPECT_THAT(before.force_deletes, IsEmpty());
  EXPECT_THAT(after.awaited, IsEmpty());
  EXPECT_THAT(after.force_deletes, ElementsAre("a-g0-0-0"));
  EXPECT_EQ(matches_of(before), matches_of(after));
}

TEST(lifecycle_actions, a_terminating_pod_of_which_nobody_knows_since_when_is_only_waited_for) {
  const auto in = with_spare()
                    .node("n1", gpu(1))
                    .pods("a", {"n1"}, prio(1), gpu(1), in_phase{pod_phase::terminating});

  const auto plan = lifecycle_world(in, {wanting("new", 10, 1, gpu(1))}).plan();

  EXPECT_THAT(awaited_in(plan), ElementsAre("a-g0-0-0"));
  EXPECT_THAT(plan.force_deletes, IsEmpty());
  EXPECT_EQ(plan.look_again, no_time);
}

TEST(lifecycle_actions, terminating_pods_that_nobody_was_matched_to_are_left_alone) {
  const auto in =
    with_spare().node("n1", gpu(2)).pods("a", {"n1", "n1"}, prio(1), gpu(1), terminating{0, 30});

  const auto plan = lifecycle_world(in, {wanting("new", 10, 1, gpu(1))}).plan();

  EXPECT_THAT(plan.force_deletes, ElementsAre("a-g0-0-1"));
  EXPECT_THAT(plan.awaited, IsEmpty());
}

TEST(lifecycle_actions, nobody_is_touched_where_nobody_lacks_replicas) {
  const auto in = with_spare()
                    .node("n1", gpu(2))
                    .pods("a", {"n1"}, prio(1), gpu(1), terminating{0, 30})
                    .pods("b", {"n1", "spare"}, prio(1), gpu(1), surplus);

  const auto plan = lifecycle_world(in, {wanting("new", 10, 0, gpu(1))}).plan();

  EXPECT_EQ(plan, lifecycle_plan{});
}

TEST(lifecycle_actions, every_victim_is_explained) {
  const auto in = with_spare()
                    .node("n1", gpu(4))
                    .pods("a", {"n1"}, prio(1), gpu(1), force_deleting)
                    .pods("b", {"n1"}, prio(1), gpu(1), terminating{3590, 30})
                    .pods("c", {"n1", "spare"}, prio(1), gpu(1), surplus)
                    .pods("d", {"n1", "spare"}, prio(1), gpu(1));

  const auto plan = lifecycle_world(in, {wanting("new", 10, 1, gpu(4))}).plan();

  ASSERT_THAT(plan.matches, SizeIs(1));
  const auto& victims = plan.matches[0].victims;
  ASSERT_THAT(victims, SizeIs(4));
  EXPECT_EQ(victims[0].reason, "is being force-deleted");
  EXPECT_THAT(victims[1].reason, HasSubstr("grace until"));
  EXPECT_EQ(victims[2].reason, "c has more pods in default than are committed");
  EXPECT_THAT(victims[3].reason,
              AllOf(HasSubstr("priority 1 is below 10"), HasSubstr("d is scaled down in default")));
}

// -- reasons -------------------------------------------------------------------------------------

TEST(lifecycle_reasons, who_is_as_important_as_the_preemptor_stays_for_that) {
  const auto one_node = with_spare().node("n1", gpu(1)).pods("a", {"n1", "spare"}, prio(9), gpu(1));
  const auto two = two_nodes()
                     .pods("a", {"n1", "spare"}, prio(9), gpu(1))
                     .pods("b", {"n2", "spare"}, prio(9), gpu(1));

  const auto on_one = lifecycle_world(one_node, {wanting("new", 9, 1, gpu(1))}).plan();
  const auto on_two = lifecycle_world(two, {wanting("new", 9, 1, gpu(1))}).plan();

  EXPECT_EQ(why_stays(on_one, "a-g0-0-0"), "its priority 9 is not below 9");
  EXPECT_THAT(why_nothing(on_one, "new"), HasSubstr("; 1 pod of priority 9 or above stays"));
  EXPECT_THAT(why_nothing(on_two, "new"), HasSubstr("; 2 pods of priority 9 or above stay"));
}

TEST(lifecycle_reasons, who_was_not_needed_did_not_stay_as_the_last_replica) {
  const auto in =
    with_spare().node("n1", gpu(3)).pods("a", {"n1", "n1", "n1"}, prio(1), gpu(1), [](pod& p) {
      p.created = at(p.index);
    });

  const auto plan = lifecycle_world(in, {wanting("new", 9, 1, gpu(1))}).plan();

  EXPECT_THAT(victims_of(plan), ElementsAre("a-g0-0-2"));
  EXPECT_EQ(why_stays(plan, "a-g0-0-0"), "new finds room on n1 without it");
  EXPECT_EQ(why_stays(plan, "a-g0-0-1"), "new finds room on n1 without it");
}

} // namespace reprieve::tests
