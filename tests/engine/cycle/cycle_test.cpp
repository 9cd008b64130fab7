#include "preemption/snapshot/snapshot_checks.hpp"
#include "preemption/snapshot/snapshot_cycle.hpp"
#include "tests/engine/worlds/plan_reading.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

/// One cycle over a snapshot: who waits is served strictly in turn.
namespace reprieve::tests {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using outcome = plan::outcome;

namespace {

constexpr auto no_change = [](auto&) {};

/// A workload of single pods.
workload wanting(const std::string& name, std::int32_t priority, resources each,
                 std::int32_t count = 1) {
  workload w;
  w.name = name;
  w.priority = priority;
  auto& group = w.groups.emplace_back();
  group.name = "w";
  group.count = count;
  group.pods.requests = std::move(each);
  return w;
}

resources gpus(std::int64_t n) {
  return {{"gpu", n * 1000}};
}

class world {
public:
  world& node(const std::string& name, resources capacity) {
    reprieve::node n;
    n.name = name;
    n.capacity = std::move(capacity);
    n.resource_group = "default";
    entries_.push_back({std::move(n), {}});
    return *this;
  }
  world& waits(workload w, workload_status status = {}) {
    entries_.push_back({std::move(w), std::move(status)});
    return *this;
  }
  template <class Change = decltype(no_change)>
  world& runs(workload w, const std::string& on, Change change = {}) {
    entries_.push_back({w, {}});
    return adds_to(w, on, change);
  }
  /// One more pod of a workload that is there.
  template <class Change = decltype(no_change)>
  world& adds_to(const workload& w, const std::string& on, Change change = {}) {
    pod p;
    p.name = w.name + "-0";
    p.workload = w.name;
    p.group = "w";
    p.node = on;
    p.phase = pod_phase::running;
    change(p);
    entries_.push_back({std::move(p), {}});
    return *this;
  }
  world& add(object what) {
    entries_.push_back({std::move(what), {}});
    return *this;
  }

  snapshot taken() const {
    auto made = snapshot::of(entries_);
    EXPECT_TRUE(made.ok()) << made.status();
    return *std::move(made);
  }

private:
  std::vector<snapshot::entry> entries_;
};

struct cycle_run {
  cycle_run(const world& in, const plan_settings& settings) : taken(in.taken()), cycle(taken) {
    cycle.run(settings);
  }

  snapshot taken;
  snapshot_cycle cycle;
};

/// `workload outcome` of each turn.
std::vector<std::string> told(const snapshot_cycle& cycle) {
  std::vector<std::string> lines;
  for (const auto& turn : cycle.turns()) {
    const auto result = turn.made.result;
    lines.push_back(turn.who.workload
                    + (result == outcome::placed     ? " placed"
                       : result == outcome::waits    ? " waits"
                       : result == outcome::preempts ? " preempts"
                       : result == outcome::reserves ? " reserves"
                                                     : " infeasible"));
  }
  return lines;
}

workload daemon_on(const std::string& node, std::int32_t priority, resources each) {
  auto w = wanting("d", priority, std::move(each));
  w.kind = workload_kind::daemon;
  w.groups.front().required_node = node;
  return w;
}

plan_settings delayed_settings() {
  auto settings = open_settings();
  settings.group.required_node.preemption_start_delay = std::chrono::seconds{30};
  return settings;
}

} // namespace

// -- in turn -------------------------------------------------------------------------------------

TEST(cycle, nobody_takes_the_free_room_that_a_more_important_one_needs_with_its_victims) {
  const cycle_run run{world()
                        .node("n1", gpus(8))
                        .runs(wanting("old", 1, gpus(4)), "n1")
                        .waits(wanting("high", 10, gpus(8)))
                        .waits(wanting("low", 0, gpus(4))),
                      open_settings()};

  EXPECT_THAT(told(run.cycle), ElementsAre("high preempts", "low infeasible"));
}

TEST(cycle, nor_does_that_cost_the_more_important_one_a_dearer_victim) {
  const cycle_run run{world()
                        .node("n1", gpus(8))
                        .runs(wanting("old", 1, gpus(4)), "n1")
                        .node("n2", gpus(8))
                        .runs(wanting("dear", 5, gpus(8)), "n2")
                        .waits(wanting("high", 10, gpus(8)))
                        .waits(wanting("low", 0, gpus(4))),
                      open_settings()};

  EXPECT_THAT(victims_of(run.cycle.turns()[0].made), ElementsAre("old"));
}

TEST(cycle, who_comes_later_gets_what_is_left) {
  const cycle_run run{world()
                        .node("n1", gpus(8))
                        .runs(wanting("old", 1, gpus(8)), "n1")
                        .node("n2", gpus(4))
                        .waits(wanting("high", 10, gpus(8)))
                        .waits(wanting("low", 0, gpus(4))),
                      open_settings()};

  EXPECT_THAT(told(run.cycle), ElementsAre("high preempts", "low placed"));
}

// -- sessions ------------------------------------------------------------------------------------

TEST(cycle, of_sessions_only_the_front_preempts_and_others_get_what_is_free) {
  const cycle_run run{world()
                        .node("n1", gpus(4))
                        .runs(wanting("old1", 1, gpus(4)), "n1")
                        .node("n2", gpus(4))
                        .runs(wanting("old2", 1, gpus(4)), "n2")
                        .node("n3", gpus(1))
                        .waits(wanting("front", 50, gpus(4)))
                        .waits(wanting("next", 40, gpus(4)))
                        .waits(wanting("small", 30, gpus(1))),
                      session_settings()};

  EXPECT_THAT(told(run.cycle), ElementsAre("front preempts", "next infeasible", "small placed"));
  EXPECT_THAT(run.cycle.turns()[1].made.why.summary, HasSubstr("not at the front"));
}

TEST(cycle, a_session_that_could_not_run_in_empty_nodes_keeps_nobody_from_the_front) {
  const auto taken = world()
                       .node("n1", gpus(4))
                       .runs(wanting("old", 1, gpus(4)), "n1")
                       .waits(wanting("huge", 90, gpus(9)))
                       .waits(wanting("next", 40, gpus(4)));
  const cycle_run run{taken, session_settings()};

  EXPECT_THAT(told(run.cycle), ElementsAre("huge infeasible", "next preempts"));
}

TEST(cycle, the_front_is_a_session_with_all_its_pods) {
  const cycle_run run{world()
                        .node("n1", gpus(4))
                        .runs(wanting("old1", 1, gpus(4)), "n1")
                        .node("n2", gpus(4))
                        .runs(wanting("old2", 1, gpus(4)), "n2")
                        .waits(wanting("front", 50, gpus(4), 2)),
                      session_settings()};

  EXPECT_THAT(told(run.cycle), ElementsAre("front preempts", "front preempts"));
}

TEST(cycle, a_session_served_alone_preempts_only_from_the_front_of_all_that_wait) {
  const auto taken = world()
                       .node("n1", gpus(4))
                       .runs(wanting("old", 1, gpus(4)), "n1")
                       .waits(wanting("high", 50, gpus(4)))
                       .waits(wanting("mid", 20, gpus(4)))
                       .taken();
  const auto alone = [&](const std::string& name) {
    snapshot_cycle cycle{taken};
    cycle.serve(taken.pending_of(name), session_settings(), cycle.line_in(session_settings()));
    return cycle.turns().front().made;
  };

  EXPECT_EQ(alone("high").result, outcome::preempts);
  EXPECT_EQ(alone("mid").result, outcome::infeasible);
  EXPECT_THAT(alone("mid").why.summary, HasSubstr("is not at the front"));
}

TEST(cycle, who_fits_in_free_room_is_not_in_the_way_of_the_next) {
  const auto taken = world()
                       .node("n1", gpus(4))
                       .runs(wanting("old", 1, gpus(4)), "n1")
                       .node("n2", gpus(1))
                       .waits(wanting("high", 50, gpus(1)))
                       .waits(wanting("mid", 20, gpus(4)))
                       .taken();
  snapshot_cycle cycle{taken};

  EXPECT_EQ(cycle.line_in(session_settings()).session(), "mid");
}

// -- bound to a node -----------------------------------------------------------------------------

TEST(cycle,
     of_a_group_that_is_bound_to_a_node_so_many_keep_room_there_and_others_wait_behind_them) {
  auto bound = wanting("bound", 5, gpus(1), 20);
  bound.groups.front().required_node = "n1";
  const cycle_run run{
    world().node("n1", gpus(4)).runs(wanting("old", 1, gpus(4)), "n1").waits(bound),
    delayed_settings()};

  const auto lines = told(run.cycle);
  ASSERT_EQ(lines.size(), 20U);
  EXPECT_EQ(std::ranges::count(lines, "bound reserves"), 16);
  EXPECT_EQ(std::ranges::count(lines, "bound infeasible"), 4);
  EXPECT_THAT(run.cycle.turns().back().made.why.summary, HasSubstr("wait for room at their node"));
}

// -- holds ---------------------------------------------------------------------------------------

TEST(cycle, what_a_more_important_one_gives_up_is_gone_for_those_after_it) {
  const auto held = [](pod& p) {
    p.phase = pod_phase::nominated;
    p.placed_by = "d1";
  };
  const auto untold = [](pod& p) { p.evicted_by = "d1"; };
  const cycle_run run{world()
                        .node("n1", gpus(8))
                        .runs(wanting("old", 1, gpus(4)), "n1", untold)
                        .runs(wanting("mid", 5, gpus(8)), "n1", held)
                        .waits(wanting("hi", 10, gpus(4)))
                        .waits(wanting("next", 9, gpus(4)))
                        .waits(wanting("last", 1, gpus(1))),
                      open_settings()};

  EXPECT_THAT(told(run.cycle), ElementsAre("hi placed", "next preempts", "last infeasible"));
  ASSERT_EQ(run.cycle.turns()[0].gives_up.size(), 1u);
  EXPECT_EQ(run.cycle.turns()[0].gives_up[0].decision, "d1");
  EXPECT_THAT(victims_of(run.cycle.turns()[1].made), ElementsAre("old"))
    << "whose eviction was given up before";
  const auto after = run.cycle.whole_view();
  EXPECT_EQ(after.find_pod("mid-0"), no_row);
  EXPECT_EQ(after.leaving_on(after.find_node("n1")).size(), 1u);
}

TEST(cycle, who_gives_its_room_up_has_its_turn_in_the_next_cycle_even_where_there_is_free_room) {
  const auto held = [](pod& p) {
    p.uid = pod_uid("mid", made_up_uid, {"w", 0, 0}, 0);
    p.phase = pod_phase::nominated;
    p.placed_by = "d1";
  };
  const auto leaves = [](pod& p) {
    p.phase = pod_phase::terminating;
    p.stop_told = open_settings().now;
  };
  const auto fast = [](std::int64_t n) { return resources{{"fast", n * 1000}, {"gpu", 4000}}; };
  const auto in = [&] {
    return world()
      .node("n1", fast(1))
      .node("n2", gpus(4))
      .runs(wanting("old", 1, gpus(4)), "n1", leaves)
      .runs(wanting("mid", 5, gpus(4)), "n1", held);
  };
  const cycle_run alone{in(), open_settings()};
  EXPECT_THAT(told(alone.cycle), ElementsAre("mid placed"));

  const cycle_run run{in().waits(wanting("hi", 10, fast(1))), open_settings()};
  EXPECT_THAT(told(run.cycle), ElementsAre("hi waits"));
  ASSERT_EQ(run.cycle.turns()[0].gives_up.size(), 1u);
  EXPECT_EQ(run.cycle.turns()[0].gives_up[0].decision, "d1");
}

TEST(cycle, the_weakest_within_a_limit_give_their_room_up_even_where_nodes_have_more) {
  queue limited;
  limited.name = "q";
  limited.limit = gpus(4);
  auto low = wanting("low", 1, gpus(2));
  auto mid = wanting("mid", 5, gpus(2));
  auto high = wanting("high", 9, gpus(2));
  low.queue = mid.queue = high.queue = "q";
  const auto held_by = [](const std::string& decision) {
    return [decision](pod& p) {
      p.phase = pod_phase::nominated;
      p.placed_by = decision;
    };
  };
  for (const auto free : {0, 2}) {
    const cycle_run run{world()
                          .add(limited)
                          .node("n1", gpus(4 + free))
                          .runs(mid, "n1", held_by("d1"))
                          .runs(low, "n1", held_by("d2"))
                          .waits(high),
                        open_settings()};

    EXPECT_EQ(told(run.cycle).front(), "high placed") << free;
    ASSERT_EQ(run.cycle.turns()[0].gives_up.size(), 1u) << free;
    EXPECT_EQ(run.cycle.turns()[0].gives_up[0].decision, "d2") << free;
  }
}

TEST(cycle, stops_nobody_of_other_queues_before_what_their_limit_can_not_admit_is_given_up) {
  queue org;
  org.name = "org";
  org.limit = gpus(2);
  queue first;
  first.name = "first";
  queue second;
  second.name = "second";
  first.parent = second.parent = "org";
  first.cap_by_demand = second.cap_by_demand = true;
  auto gang = wanting("gang", 0, gpus(2), 2);
  gang.groups.front().min_count = 2;
  gang.queue = "first";
  auto one = wanting("one", 0, gpus(1));
  auto two = wanting("two", 0, gpus(1));
  one.queue = two.queue = "second";
  const auto held = [](std::int32_t index) {
    return [index](pod& p) {
      p.name = "gang-" + std::to_string(index);
      p.index = index;
      p.phase = pod_phase::nominated;
      p.placed_by = "d1";
    };
  };
  const cycle_run run{world()
                        .add(org)
                        .add(first)
                        .add(second)
                        .node("n1", gpus(8))
                        .runs(gang, "n1", held(0))
                        .adds_to(gang, "n1", held(1))
                        .runs(one, "n1")
                        .runs(two, "n1"),
                      open_settings()};

  ASSERT_EQ(run.cycle.groundless().size(), 1u);
  EXPECT_EQ(run.cycle.groundless()[0].decision, "d1");
  EXPECT_TRUE(run.cycle.taken_back().empty()) << "without the gang they are within the limit";
}

TEST(cycle, keeps_single_pods_of_a_decision_that_a_limit_admits_one_by_one) {
  queue limited;
  limited.name = "q";
  limited.limit = gpus(2);
  queue free;
  free.name = "free";
  auto pods = wanting("pods", 0, gpus(1), 3);
  auto others = wanting("others", 0, gpus(1));
  pods.queue = "q";
  others.queue = "free";
  const auto held = [](std::int32_t index) {
    return [index](pod& p) {
      p.name = p.workload + "-" + std::to_string(index);
      p.index = index;
      p.phase = pod_phase::nominated;
      p.placed_by = "d1";
    };
  };
  const cycle_run run{world()
                        .add(limited)
                        .add(free)
                        .node("n1", gpus(8))
                        .runs(pods, "n1", held(0))
                        .adds_to(pods, "n1", held(1))
                        .adds_to(pods, "n1", held(2))
                        .runs(others, "n1", held(0)),
                      open_settings()};

  EXPECT_TRUE(run.cycle.groundless().empty());
}

TEST(cycle, gives_up_at_a_lower_limit_what_it_can_not_admit_before_anybody_else_goes) {
  queue limited;
  limited.name = "q";
  limited.limit = gpus(2);
  auto old = wanting("old", 0, gpus(2));
  auto more = wanting("more", 0, gpus(2));
  auto gang = wanting("gang", 50, gpus(4));
  old.queue = more.queue = gang.queue = "q";
  const auto held = [](pod& p) {
    p.phase = pod_phase::nominated;
    p.placed_by = "d1";
  };
  const auto told_to_go = [](pod& p) {
    p.evicted_by = "d1";
    p.stop_told = open_settings().now;
  };
  for (const bool others : {true, false}) {
    world in;
    in.add(limited).node("n1", gpus(8)).runs(old, "n1", told_to_go).runs(gang, "n1", held);
    if (others)
      in.runs(more, "n1");
    const cycle_run run{in, open_settings()};

    ASSERT_EQ(run.cycle.groundless().size(), 1u) << others;
    EXPECT_EQ(run.cycle.groundless()[0].decision, "d1");
    EXPECT_TRUE(run.cycle.taken_back().empty()) << "what is left is within the limit";
    for (const auto& turn : run.cycle.turns())
      EXPECT_TRUE(turn.made.victims.empty()) << turn.who.workload;
  }
}

// -- reservations --------------------------------------------------------------------------------

TEST(cycle, a_reserved_node_keeps_those_out_who_ask_for_what_is_short_there) {
  const cycle_run run{world()
                        .node("n1", {{"cpu", 4000}, {"gpu", 1000}})
                        .runs(wanting("a", 2, {{"cpu", 2000}}), "n1")
                        .waits(daemon_on("n1", 10, {{"cpu", 3000}}))
                        .waits(wanting("equal", 10, {{"cpu", 2000}}))
                        .waits(wanting("lo", 1, {{"cpu", 2000}}))
                        .waits(wanting("other", 0, {{"gpu", 1000}})),
                      delayed_settings()};

  EXPECT_THAT(told(run.cycle),
              ElementsAre("d reserves", "equal infeasible", "lo infeasible", "other placed"));
}

TEST(cycle, who_comes_before_the_daemon_does_not_see_its_reservation) {
  const cycle_run run{world()
                        .node("n1", {{"cpu", 4000}})
                        .runs(wanting("a", 2, {{"cpu", 2000}}), "n1")
                        .waits(daemon_on("n1", 10, {{"cpu", 3000}}))
                        .waits(wanting("hi", 11, {{"cpu", 2000}})),
                      delayed_settings()};

  EXPECT_THAT(told(run.cycle), ElementsAre("hi placed", "d reserves"));
}

TEST(cycle, a_node_counts_as_reserved_since_the_workload_was_submitted) {
  const auto submitted = [](std::int64_t seconds_ago) {
    workload_status status;
    status.submitted = open_settings().now - std::chrono::seconds{seconds_ago};
    return status;
  };
  const auto told_after = [&](std::int64_t seconds) {
    const cycle_run run{world()
                          .node("n1", {{"cpu", 4000}})
                          .runs(wanting("a", 2, {{"cpu", 2000}}), "n1")
                          .waits(daemon_on("n1", 10, {{"cpu", 3000}}), submitted(seconds)),
                        delayed_settings()};
    return told(run.cycle);
  };

  EXPECT_THAT(told_after(30), ElementsAre("d reserves"));
  EXPECT_THAT(told_after(31), ElementsAre("d preempts"));
}

// -- those who are held back ---------------------------------------------------------------------

TEST(cycle, a_queue_at_its_limit_gets_no_more_and_what_is_placed_counts) {
  queue limited;
  limited.name = "q";
  limited.limit = gpus(4);
  auto first = wanting("first", 9, gpus(3));
  auto second = wanting("second", 8, gpus(2));
  auto third = wanting("third", 7, gpus(1));
  first.queue = second.queue = third.queue = "q";
  const cycle_run run{
    world().add(limited).node("n1", gpus(16)).waits(first).waits(second).waits(third),
    open_settings()};

  EXPECT_THAT(told(run.cycle), ElementsAre("first placed", "second infeasible", "third placed"));
  EXPECT_EQ(run.cycle.turns()[1].made.why.summary,
            "queue q has a limit of 4 gpu here, 3 are taken and 2 more are asked for");
}

TEST(cycle, work_of_another_queue_has_its_turn_between_many_pods_of_one_workload) {
  world in;
  for (const auto* name : {"one", "other"}) {
    queue q;
    q.name = name;
    in.add(q);
  }
  auto many = wanting("many", 5, {{"cpu", 1}}, 2000);
  auto same = wanting("same", 5, {{"cpu", 1}});
  auto less = wanting("less", 4, {{"cpu", 1}});
  many.queue = "one";
  same.queue = less.queue = "other";
  workload_status later;
  later.submitted = open_settings().now;
  const cycle_run run{in.node("n1", {{"cpu", 100'000}}).waits(many).waits(same, later).waits(less),
                      open_settings()};

  const auto all = told(run.cycle);
  const auto turn_of = [&](const char* name) {
    return std::ranges::find(all, std::string(name) + " placed") - all.begin();
  };
  EXPECT_LE(turn_of("same"), 512);
  EXPECT_GE(turn_of("less"), std::min<std::ptrdiff_t>(2000, std::ssize(all)))
    << "whose priority is below theirs";
}

TEST(cycle, victims_of_the_same_queue_count_as_gone) {
  queue limited;
  limited.name = "q";
  limited.limit = gpus(12);
  auto old = wanting("old", 1, gpus(8));
  auto high = wanting("high", 9, gpus(4));
  auto next = wanting("next", 8, gpus(4));
  old.queue = high.queue = next.queue = "q";
  const cycle_run run{
    world().add(limited).node("n1", gpus(8)).runs(old, "n1").waits(high).waits(next),
    open_settings()};

  EXPECT_THAT(told(run.cycle), ElementsAre("high preempts", "next waits"));
}

TEST(cycle, those_who_go_for_a_limit_alone_are_told_whom_they_go_for) {
  queue limited;
  limited.name = "q";
  limited.limit = gpus(2);
  auto low = wanting("low", 1, gpus(1));
  auto middle = wanting("middle", 5, gpus(1));
  auto high = wanting("high", 9, gpus(2));
  low.queue = middle.queue = high.queue = "q";
  const cycle_run run{
    world().add(limited).node("n1", gpus(8)).runs(low, "n1").runs(middle, "n1").waits(high),
    open_settings()};

  ASSERT_THAT(told(run.cycle), ElementsAre("high preempts"));
  const auto& made = run.cycle.turns()[0].made;
  EXPECT_EQ(made.why.summary,
            "high (priority 9) gets 1 pod on 1 node in what is free; 2 less important portions go "
            "as the limit of queue q is used up; nothing above priority 5 was touched");
  ASSERT_EQ(made.victims.size(), 2u);
  EXPECT_THAT(made.victims[0].reason,
              HasSubstr("it goes for high (priority 9), which is more important and within the "
                        "same limit: queue q uses 2 gpu and may use 2, of which this holds 1; "
                        "its priority is 1"));
  EXPECT_EQ(made.scored.highest_victim_priority, 5);
  EXPECT_EQ(made.scored.pods, 2);
}

TEST(cycle, tells_of_as_many_pods_as_a_limit_leaves_of_a_gang) {
  queue limited;
  limited.name = "q";
  limited.limit = gpus(2);
  auto one = wanting("one", 0, gpus(1));
  auto gang = wanting("gang", 0, gpus(1), 2);
  gang.groups.front().min_count = 1;
  one.queue = gang.queue = "q";
  const cycle_run run{world().add(limited).node("n1", gpus(8)).runs(one, "n1").waits(gang),
                      open_settings()};

  const auto& made = run.cycle.turns().front().made;
  ASSERT_EQ(made.assignments.size(), 1u);
  EXPECT_THAT(made.why.summary, HasSubstr("gang (priority 0) gets 1 pod on 1 node"));
}

TEST(cycle, preempted_work_waits_until_it_may_resume_and_is_not_the_front_meanwhile) {
  workload_status resumed;
  resumed.attempts = 2;
  resumed.resume_after = open_settings().now + std::chrono::hours{1};
  const auto in = world()
                    .node("n1", gpus(8))
                    .runs(wanting("old", 1, gpus(8)), "n1")
                    .waits(wanting("again", 50, gpus(8)), resumed)
                    .waits(wanting("next", 40, gpus(8)));
  const cycle_run run{in, session_settings()};

  EXPECT_THAT(told(run.cycle), ElementsAre("again infeasible", "next preempts"));
  EXPECT_THAT(run.cycle.turns()[0].made.why.summary,
              HasSubstr("it was preempted 2 times and is tried again in 1h"));
  EXPECT_EQ(run.cycle.turns()[0].made.look_again, resumed.resume_after);
}

} // namespace reprieve::tests
