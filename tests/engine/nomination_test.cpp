#include "preemption/nomination.hpp"
#include "tests/engine/plan_reading.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace reprieve::tests {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using fate = nomination_review::fate;

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

} // namespace reprieve::tests
