#include "preemption/nomination.hpp"
#include "preemption/snapshot.hpp"
#include "tests/engine/plan_reading.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace reprieve::tests {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;
using fate = nomination_review::fate;
using outcome = plan::outcome;

namespace {

/// `new` is nominated on n1, where `old` leaves for it.
struct nominated_on_n1 {
  preemptor who = lone("new", prio(10), gpu(8));
  nomination held;
  cluster_view view;

  explicit nominated_on_n1(const cluster& around) : view(around.view()) {
    auto hold = who.groups.front().pods.front();
    hold.node = "n1";
    hold.phase = pod_phase::nominated;
    hold.placed_by = "d1";
    held = {"d1", {{hold}}, {}};
    view.put_pod(hold);
    view.settle();
  }

  nomination_review reviewed() {
    return review(view, who, held, open_settings());
  }
};

cluster full_cluster() {
  return cluster()
    .node("n1", gpu(8))
    .running("old", prio(1), gpu(8), chosen_already{}, in_phase{pod_phase::terminating})
    .node("n2", gpu(8))
    .running("other", prio(1), gpu(8));
}

} // namespace

TEST(nomination, that_is_valid_causes_no_further_preemption) {
  nominated_on_n1 given{full_cluster()};

  const auto made = given.reviewed();

  EXPECT_EQ(made.becomes, fate::stands);
}

TEST(nomination, moves_to_a_placement_that_needs_no_victims) {
  const auto freed =
    cluster()
      .node("n1", gpu(8))
      .running("old", prio(1), gpu(8), chosen_already{}, in_phase{pod_phase::terminating})
      .node("n2", gpu(8));
  nominated_on_n1 given{freed};

  const auto made = given.reviewed();

  EXPECT_EQ(made.becomes, fate::moves);
  EXPECT_THAT(pods_by_node(made.instead), ElementsAre(Pair("n2", 1)));
}

TEST(nomination, fails_when_its_node_is_lost) {
  nominated_on_n1 given{full_cluster()};
  node lost;
  lost.name = "n1";
  lost.capacity = {{"gpu", 8000}};
  lost.ready = false;
  given.view.put_node(lost);
  given.view.settle();

  const auto made = given.reviewed();

  EXPECT_EQ(made.becomes, fate::fails);
  EXPECT_THAT(made.why, HasSubstr("node n1 takes no pods"));
}

TEST(nomination, fails_when_its_node_does_not_suit_any_more) {
  nominated_on_n1 given{full_cluster()};
  node changed;
  changed.name = "n1";
  changed.capacity = {{"gpu", 8000}};
  changed.taints.push_back({"broken", "", taint_effect::no_schedule});
  given.view.put_node(changed);
  given.view.settle();

  const auto made = given.reviewed();

  EXPECT_EQ(made.becomes, fate::fails);
  EXPECT_EQ(made.why, "node n1 does not suit its pods any more");
}

TEST(nomination, fails_when_a_higher_priority_took_its_room) {
  nominated_on_n1 given{full_cluster()};
  pod stronger;
  stronger.uid = "stronger";
  stronger.workload = "stronger";
  stronger.group = "g";
  stronger.node = "n1";
  stronger.phase = pod_phase::nominated;
  stronger.priority = 50;
  stronger.requests = {{"gpu", 4000}};
  given.view.put_pod(stronger);
  given.view.settle();

  const auto made = given.reviewed();

  EXPECT_EQ(made.becomes, fate::fails);
  EXPECT_THAT(made.why, HasSubstr("room on node n1 was taken"));
}

TEST(nomination, fails_when_a_victim_is_past_its_limit) {
  nominated_on_n1 given{full_cluster()};
  given.held.stuck = {"old-g0-0-0"};

  EXPECT_EQ(given.reviewed().becomes, fate::fails);
}

TEST(nomination, is_in_the_view_after_a_review_as_it_was_before) {
  nominated_on_n1 given{full_cluster()};
  const auto n = given.view.find_node("n1");
  const std::vector<std::int64_t> before{given.view.promised(n).begin(),
                                         given.view.promised(n).end()};

  given.reviewed();

  EXPECT_THAT(given.view.promised(n), ::testing::ElementsAreArray(before));
}

TEST(nomination, moves_rather_than_fails_where_there_is_room_without_victims) {
  auto freed = cluster().node("n1", gpu(8), not_ready());
  freed.running("old", prio(1), gpu(8), chosen_already{}, in_phase{pod_phase::terminating});
  freed.node("n2", gpu(8));
  nominated_on_n1 given{freed};

  const auto made = given.reviewed();

  EXPECT_EQ(made.becomes, fate::moves);
  EXPECT_THAT(pods_by_node(made.instead), ElementsAre(Pair("n2", 1)));
}

TEST(nomination, stands_while_its_victim_moves_on_in_its_lifecycle) {
  for (const auto phase : {pod_phase::running, pod_phase::surplus, pod_phase::terminating,
                           pod_phase::force_deleting}) {
    nominated_on_n1 given{cluster()
                            .node("n1", gpu(8))
                            .running("old", prio(1), gpu(8), chosen_already{}, in_phase{phase})
                            .node("n2", gpu(8))
                            .running("other", prio(1), gpu(8))};

    EXPECT_EQ(given.reviewed().becomes, fate::stands) << static_cast<int>(phase);
  }
}

TEST(nomination, takes_its_own_room_once_its_victim_has_gone) {
  nominated_on_n1 given{
    cluster().node("n1", gpu(8)).node("n2", gpu(8)).running("other", prio(1), gpu(8))};

  const auto made = given.reviewed();

  EXPECT_THAT(pods_by_node(made.instead), ElementsAre(Pair("n1", 1)));
}

TEST(nomination, of_a_gang_does_not_move_to_room_for_a_part_of_it) {
  auto view = cluster()
                .node("n1", gpu(8))
                .running("a", prio(1), gpu(8), chosen_already{})
                .node("n2", gpu(8))
                .running("b", prio(1), gpu(8), chosen_already{})
                .node("n3", gpu(8))
                .view();
  const auto who = gang("new", prio(10), members(2, gpu(8)));
  nomination held{"d1", {}, {}};
  for (std::size_t i = 0; i < 2; ++i) {
    auto hold = who.groups.front().pods[i];
    hold.node = i == 0 ? "n1" : "n2";
    hold.phase = pod_phase::nominated;
    held.assignments.push_back({hold});
    view.put_pod(hold);
  }
  view.settle();

  EXPECT_EQ(review(view, who, held, open_settings()).becomes, fate::stands);
}

TEST(nomination, keeps_its_room_from_those_of_equal_and_lower_priority) {
  // Its victim leaves n1; whoever comes later does not get that room, nor does the holder go.
  nominated_on_n1 given{
    cluster()
      .node("n1", gpu(8))
      .running("old", prio(1), gpu(8), chosen_already{}, in_phase{pod_phase::terminating})};

  for (const auto priority : {10, 9, 0}) {
    const auto made = decide(given.view, lone("later", prio(priority), gpu(1)), open_settings());

    EXPECT_EQ(made.result, outcome::infeasible) << priority;
    EXPECT_THAT(made.assignments, IsEmpty());
  }
}

TEST(nomination, leaves_the_victims_of_this_cycle_gone_and_their_room_its_own) {
  const auto built = cluster()
                       .node("n1", gpu(8))
                       .running("large", prio(1), gpu(8))
                       .node("n2", gpu(8))
                       .running("low", prio(2), gpu(8));
  auto view = built.view();
  const auto first = decide(view, lone("first", prio(10), gpu(6)), open_settings());
  ASSERT_THAT(victims_of(first), UnorderedElementsAre("large"));
  carry_out(first, "d1", built.all_pods(), view);

  const auto small = decide(view, lone("small", prio(9), gpu(2)), open_settings());
  const auto big = decide(view, lone("big", prio(9), gpu(4)), open_settings());

  EXPECT_EQ(small.result, outcome::waits) << "beside the first, where the large one was";
  EXPECT_THAT(pods_by_node(small), ElementsAre(Pair("n1", 1)));
  EXPECT_THAT(victims_of(big), UnorderedElementsAre("low")) << "two of the eight are not enough";
}

TEST(nomination, stays_as_it_is_cycle_after_cycle_while_nothing_changes) {
  // Either node would do at the same cost.
  const auto built = cluster()
                       .node("n1", gpu(8))
                       .running("old", prio(1), gpu(8))
                       .node("n2", gpu(8))
                       .running("other", prio(1), gpu(8));
  auto view = built.view();
  const auto who = lone("new", prio(10), gpu(8));
  const auto made = decide(view, who, open_settings());
  carry_out(made, "d1", built.all_pods(), view);
  const nomination held{"d1", made.assignments, {}};

  for (int cycle = 0; cycle < 3; ++cycle)
    EXPECT_EQ(review(view, who, held, open_settings()).becomes, fate::stands) << cycle;
}

} // namespace reprieve::tests
