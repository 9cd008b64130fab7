#include "preemption/cycle/holds.hpp"
#include "tests/engine/worlds/plan_reading.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

/// Room that is held belongs to those it is held for, but for more important ones
/// (docs/policies.md#delayed-actuation).
namespace reprieve::tests {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;
using outcome = plan::outcome;

namespace {

struct held_by {
  std::string decision;

  void operator()(pod& p) const {
    p.phase = pod_phase::nominated;
    p.placed_by = decision;
  }
};

struct evicted_by {
  std::string decision;
  time_point told = no_time;

  void operator()(pod& p) const {
    p.evicted_by = decision;
    p.stop_told = told;
  }
};

plan_over_holds found_in(const cluster& in, const preemptor& who,
                         const plan_settings& settings = open_settings()) {
  auto view = in.view();
  return decide_over_holds(view, who, settings, holds_among(in.all_pods()));
}

std::vector<std::string> decisions_of(const plan_over_holds& found) {
  std::vector<std::string> ids;
  for (const auto& one : found.gives_up)
    ids.push_back(one.decision);
  return ids;
}

} // namespace

TEST(holds, a_more_important_preemptor_takes_what_is_held) {
  const auto in = cluster().node("n1", gpu(8)).running("mid", prio(5), gpu(8), held_by{"d1"});

  const auto found = found_in(in, lone("new", prio(10), gpu(8)));

  EXPECT_EQ(found.made.result, outcome::placed);
  ASSERT_THAT(decisions_of(found), ElementsAre("d1"));
  EXPECT_EQ(found.gives_up[0].reason,
            "new (priority 10) needs room that it holds for mid (priority 5)");
}

TEST(holds, what_a_weaker_one_waits_for_is_taken_before_anybody_is_stopped) {
  const auto in = cluster()
                    .node("n1", gpu(8))
                    .running("gone", prio(0), gpu(8), evicted_by{"d0", at(1)})
                    .running("mid", prio(5), gpu(8), held_by{"d1"})
                    .node("n2", gpu(8))
                    .running("low", prio(1), gpu(8));
  auto view = in.view();
  const auto holds = holds_among(in.all_pods());

  const auto found =
    find_room_over_waiting(view, lone("new", prio(10), gpu(8)), open_settings(), holds);

  EXPECT_EQ(found.made.result, outcome::waits);
  EXPECT_THAT(found.made.victims, IsEmpty());
  EXPECT_THAT(decisions_of(found), ElementsAre("d1"));
  EXPECT_EQ(view.free(view.find_node("n1"))[0], in.view().free(view.find_node("n1"))[0]);
  EXPECT_THAT(find_room_over_waiting(view, lone("new", prio(5), gpu(8)), open_settings(), holds)
                .made.assignments,
              IsEmpty())
    << "it is not weaker";
}

TEST(holds, the_weakest_of_those_who_wait_for_room_gives_way) {
  auto in = cluster();
  for (const auto& [name, priority] : {std::pair{"a", 3}, std::pair{"b", 2}, std::pair{"c", 4}})
    in.node(std::string("n-") + name, gpu(8))
      .running(std::string("gone-") + name, prio(0), gpu(8), evicted_by{"d0", at(1)})
      .running(name, prio(priority), gpu(8), held_by{std::string("d-") + name});
  auto view = in.view();

  const auto found = find_room_over_waiting(view, lone("new", prio(10), gpu(8)), open_settings(),
                                            holds_among(in.all_pods()));

  EXPECT_THAT(decisions_of(found), ElementsAre("d-b"));
}

TEST(holds, one_that_has_stopped_others_for_it_is_left_alone) {
  const auto in = cluster()
                    .node("n1", gpu(8))
                    .running("gone", prio(0), gpu(8), evicted_by{"d1", at(1)})
                    .running("mid", prio(5), gpu(8), held_by{"d1"});
  auto view = in.view();

  EXPECT_THAT(find_room_over_waiting(view, lone("new", prio(10), gpu(8)), open_settings(),
                                     holds_among(in.all_pods()))
                .made.assignments,
              IsEmpty());
}

TEST(holds, one_that_starts_at_once_is_left_alone) {
  const auto in = cluster().node("n1", gpu(8)).running("mid", prio(5), gpu(8), held_by{"d1"});
  auto view = in.view();

  EXPECT_THAT(find_room_over_waiting(view, lone("new", prio(10), gpu(8)), open_settings(),
                                     holds_among(in.all_pods()))
                .made.assignments,
              IsEmpty());
}

TEST(holds, an_equal_or_lower_one_does_not) {
  const auto in = cluster().node("n1", gpu(8)).running("mid", prio(5), gpu(8), held_by{"d1"});

  for (const auto priority : {4, 5}) {
    const auto found = found_in(in, lone("new", prio(priority), gpu(8)));

    EXPECT_EQ(found.made.result, outcome::infeasible) << priority;
    EXPECT_THAT(found.gives_up, IsEmpty()) << priority;
  }
}

TEST(holds, nothing_is_given_up_for_what_has_a_plan_anyway) {
  const auto in = cluster()
                    .node("n1", gpu(8))
                    .running("mid", prio(5), gpu(8), held_by{"d1"})
                    .node("n2", gpu(8))
                    .running("low", prio(6), gpu(8));

  const auto found = found_in(in, lone("new", prio(10), gpu(8)));

  EXPECT_THAT(victims_of(found.made), UnorderedElementsAre("low"));
  EXPECT_THAT(found.gives_up, IsEmpty());
}

TEST(holds, the_preemptor_waits_for_those_who_were_told_to_leave_for_the_other) {
  const auto in = cluster()
                    .node("n1", gpu(8))
                    .running("old", prio(1), gpu(8), evicted_by{"d1", at(0)})
                    .running("mid", prio(5), gpu(8), held_by{"d1"});

  const auto found = found_in(in, lone("new", prio(10), gpu(8)));

  EXPECT_EQ(found.made.result, outcome::waits);
  EXPECT_THAT(decisions_of(found), ElementsAre("d1"));
}

TEST(holds, a_victim_that_was_not_told_stays_or_goes_for_the_preemptor) {
  const auto in = cluster()
                    .node("n1", gpu(8))
                    .running("old", prio(1), gpu(4), evicted_by{"d1"})
                    .running("mid", prio(5), gpu(8), held_by{"d1"});

  const auto small = found_in(in, lone("new", prio(10), gpu(4)));
  const auto large = found_in(in, lone("new", prio(10), gpu(8)));

  EXPECT_EQ(small.made.result, outcome::placed) << "the old one is reprieved";
  EXPECT_EQ(large.made.result, outcome::preempts);
  EXPECT_THAT(victims_of(large.made), UnorderedElementsAre("old"));
}

TEST(holds, of_several_the_weakest_is_given_up_and_of_equal_ones_the_newest) {
  const auto in = cluster()
                    .node("n1", gpu(8))
                    .running("strong", prio(7), gpu(8), held_by{"d1"})
                    .node("n2", gpu(8))
                    .running("older", prio(3), gpu(8), held_by{"d2"})
                    .node("n3", gpu(8))
                    .running("newer", prio(3), gpu(8), held_by{"d3"})
                    .node("n4", gpu(8))
                    .running("stronger", prio(8), gpu(8), held_by{"d4"});

  EXPECT_THAT(decisions_of(found_in(in, lone("new", prio(10), gpu(8)))), ElementsAre("d3"));
  EXPECT_THAT(decisions_of(found_in(in, gang("new", prio(10), members(3, gpu(8))))),
              ElementsAre("d1", "d2", "d3"));
}

TEST(holds, as_few_as_can_be_are_given_up) {
  // The weakest ones are of no use: even together they leave too little.
  auto in = cluster();
  for (int i = 0; i < 5; ++i)
    in.node("s" + std::to_string(i), gpu(4))
      .running("small" + std::to_string(i), prio(1), gpu(4), held_by{"d" + std::to_string(i)});
  in.node("n", gpu(8)).running("mid", prio(5), gpu(8), held_by{"d9"});

  EXPECT_THAT(decisions_of(found_in(in, lone("new", prio(10), gpu(8)))), ElementsAre("d9"));
}

TEST(holds, a_decision_is_given_up_whole_and_is_as_strong_as_its_strongest_pod) {
  const auto in = cluster()
                    .node("n1", gpu(8))
                    .running("weak", prio(1), gpu(8), held_by{"d1"})
                    .node("n2", gpu(8))
                    .running("strong", prio(10), gpu(8), held_by{"d1"});

  EXPECT_THAT(found_in(in, lone("new", prio(10), gpu(8))).gives_up, IsEmpty());
  const auto above = found_in(in, lone("new", prio(11), gpu(8)));
  ASSERT_THAT(decisions_of(above), ElementsAre("d1"));
  EXPECT_THAT(above.gives_up[0].reason, HasSubstr("for strong, weak (priority 10)"));
}

TEST(holds, where_giving_up_is_no_help_nothing_is) {
  const auto in = cluster()
                    .node("n1", gpu(8))
                    .running("mid", prio(5), gpu(4), held_by{"d1"})
                    .running("high", prio(50), gpu(4));

  const auto found = found_in(in, lone("new", prio(10), gpu(8)));

  EXPECT_EQ(found.made.result, outcome::infeasible);
  EXPECT_THAT(found.made.why.summary, HasSubstr("does not fit"));
  EXPECT_THAT(found.gives_up, IsEmpty());
}

TEST(holds, the_view_has_them_again_afterwards) {
  const auto in = cluster()
                    .node("n1", gpu(8))
                    .running("old", prio(1), gpu(8), evicted_by{"d1"})
                    .running("mid", prio(5), gpu(8), held_by{"d1"})
                    .node("n2", gpu(8))
                    .running("weak", prio(2), gpu(8), held_by{"d2"});
  auto view = in.view();

  for (const auto gpus : {8, 9}) {
    decide_over_holds(view, lone("new", prio(10), gpu(gpus)), open_settings(),
                      holds_among(in.all_pods()));
    decide_over_holds(view, gang("new", prio(10), members(2, gpu(gpus))), open_settings(),
                      holds_among(in.all_pods()));
  }

  EXPECT_EQ(view.pod_count(), 3u);
  EXPECT_EQ(decide(view, lone("new", prio(10), gpu(8)), open_settings()).result,
            outcome::infeasible);
  EXPECT_EQ(view.leaving_on(view.find_node("n1")).size(), 1u);
}

TEST(holds, a_workload_does_not_give_up_its_own) {
  const auto in = cluster().node("n1", gpu(8)).running("new", prio(5), gpu(8), held_by{"d1"});

  EXPECT_THAT(found_in(in, lone("new", prio(10), gpu(8))).gives_up, IsEmpty());
}

TEST(holds, a_decision_that_has_begun_to_bind_its_pods_is_not_given_up) {
  const auto begun = [](pod& p) {
    p.placed_by = "d1";
    p.phase = p.index == 0 ? pod_phase::bound : pod_phase::nominated;
  };
  const auto in = cluster()
                    .node("n1", gpu(8))
                    .node("n2", gpu(8))
                    .pods("mid", {"n1", "n2"}, prio(5), gpu(8), begun);

  EXPECT_THAT(holds_among(in.all_pods()), IsEmpty());
}

TEST(holds, one_whose_class_never_preempts_takes_the_room_but_no_victims) {
  const auto in = cluster()
                    .node("n1", gpu(8))
                    .running("old", prio(1), gpu(4), evicted_by{"d1"})
                    .running("mid", prio(5), gpu(8), held_by{"d1"});

  EXPECT_EQ(found_in(in, lone("new", prio(10), gpu(4), never_preempts())).made.result,
            outcome::placed);
  EXPECT_EQ(found_in(in, lone("new", prio(10), gpu(8), never_preempts())).made.result,
            outcome::infeasible);
}

} // namespace reprieve::tests
