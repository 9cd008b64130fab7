#include "preemption/policies/sessions/sessions.hpp"
#include "preemption/waiting/pending.hpp"
#include "tests/engine/worlds/plan_reading.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

/// What keeps sessions from preempting: their place in the queue (docs/policies.md#sessions), and
/// guards.
namespace reprieve::tests {

namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;
using outcome = plan::outcome;

} // namespace

// -- the front of the queue ----------------------------------------------------------------------

TEST(sessions, only_the_one_at_the_front_of_the_queue_triggers) {
  const auto view = cluster().node("n1", gpu(8)).running("low", prio(1), gpu(8)).view();
  auto who = lone("new", prio(10), gpu(8));
  who.at_front = false;

  const auto made = decide(view, who, session_settings());

  EXPECT_EQ(made.result, outcome::infeasible);
  EXPECT_THAT(made.victims, IsEmpty());
  EXPECT_THAT(made.why.summary, HasSubstr("not at the front of the job queue"));
}

TEST(sessions, one_behind_others_is_placed_where_it_fits_without_preemption) {
  const auto view = cluster().node("n1", gpu(8)).view();
  auto who = lone("new", prio(10), gpu(8));
  who.at_front = false;

  EXPECT_EQ(decide(view, who, session_settings()).result, outcome::placed);
}

TEST(sessions, the_place_in_the_queue_does_not_matter_to_other_policies) {
  const auto view = cluster().node("n1", gpu(8)).running("low", prio(1), gpu(8)).view();
  auto who = lone("new", prio(10), gpu(8));
  who.at_front = false;

  EXPECT_EQ(decide(view, who, open_settings()).result, outcome::preempts);
}

TEST(front_of_queue, is_the_first_in_the_order_they_are_served) {
  const auto record = [](const std::string& name, std::int32_t priority, std::int64_t submitted) {
    workload_record made;
    made.spec.edit().name = name;
    made.status.resolved.priority = priority;
    made.status.submitted = at(submitted);
    return made;
  };
  std::vector records{record("late", 20, 2), record("lesser", 10, 0), record("early", 20, 1)};
  std::ranges::sort(records, served_before);
  std::vector<preemptor> units;
  for (const auto& one : records)
    units.push_back(lone(one.spec->name, prio(one.status.resolved.priority), gpu(1)));
  std::vector<const preemptor*> waiting;
  for (const auto& one : units)
    waiting.push_back(&one);

  const auto front = front_of_queue(waiting);

  ASSERT_TRUE(front.has_value());
  EXPECT_EQ(units[*front].workload, "early") << "highest priority, then earlier submission";
}

TEST(front_of_queue, daemons_stand_in_nobodys_way) {
  const auto first = lone("logs", prio(100), cpu(1), required{"n1"});
  const auto second = lone("train", prio(10), gpu(1));
  const std::vector<const preemptor*> waiting{&first, &second};

  EXPECT_EQ(front_of_queue(waiting), 1u);
}

TEST(front_of_queue, one_that_must_not_preempt_keeps_its_place) {
  const auto first = lone("patient", prio(20), gpu(1), never_preempts());
  const auto second = lone("train", prio(10), gpu(1));
  const std::vector<const preemptor*> waiting{&first, &second};

  EXPECT_EQ(front_of_queue(waiting), 0u);
}

TEST(front_of_queue, is_nobody_where_no_session_waits) {
  const auto only = lone("logs", prio(100), cpu(1), required{"n1"});
  const std::vector<const preemptor*> daemons{&only};

  EXPECT_EQ(front_of_queue({}), std::nullopt);
  EXPECT_EQ(front_of_queue(daemons), std::nullopt);
}

// -- guards --------------------------------------------------------------------------------------

TEST(sessions, who_has_not_run_for_the_minimum_runtime_stays) {
  const auto view = cluster()
                      .node("n1", gpu(8))
                      .running("young", prio(1), gpu(4), started{3000})
                      .running("old", prio(2), gpu(4), started{0})
                      .view();
  auto settings = session_settings();
  settings.group.limits.minimum_runtime = 15min;

  const auto made = decide(view, lone("new", prio(10), gpu(4)), settings);

  EXPECT_THAT(victims_of(made), UnorderedElementsAre("old"));
  EXPECT_THAT(reason_for(made.why.passed_over, "young"), HasSubstr("has run for 10m"));
}

TEST(sessions, who_asks_for_a_minimum_runtime_gets_it) {
  const auto view = cluster()
                      .node("n1", gpu(8))
                      .running("young", prio(1), gpu(4), [](pod& p) { p.minimum_runtime = 2h; })
                      .running("other", prio(2), gpu(4))
                      .view();

  const auto made = decide(view, lone("new", prio(10), gpu(4)), session_settings());

  EXPECT_THAT(victims_of(made), UnorderedElementsAre("other"));
}

TEST(sessions, a_workload_that_was_preempted_often_enough_stays) {
  const auto view = cluster()
                      .node("n1", gpu(8))
                      .running("often", prio(1), gpu(4))
                      .running("once", prio(2), gpu(4))
                      .view();
  auto settings = session_settings();
  settings.group.limits.preemptions_per_workload_per_hour = 2;
  settings.recent_preemptions = {{"often", 2}, {"once", 1}};

  const auto made = decide(view, lone("new", prio(10), gpu(4)), settings);

  EXPECT_THAT(victims_of(made), UnorderedElementsAre("once"));
}

TEST(sessions, an_opt_out_is_a_veto_where_the_group_says_so) {
  const auto view = cluster()
                      .node("n1", gpu(8))
                      .running("shy", prio(1), gpu(4), opted_out())
                      .running("low", prio(2), gpu(4))
                      .view();
  auto settings = session_settings();

  const auto without = decide(view, lone("new", prio(10), gpu(4)), settings);
  settings.group.limits.opt_out_is_veto = true;
  const auto with = decide(view, lone("new", prio(10), gpu(4)), settings);

  EXPECT_THAT(victims_of(without), UnorderedElementsAre("shy"));
  EXPECT_THAT(victims_of(with), UnorderedElementsAre("low"));
}

TEST(sessions, a_plan_with_too_many_victims_is_infeasible) {
  auto built = cluster().node("n1", gpu(4));
  for (const auto* name : {"a", "b", "c"})
    built.pods(name, {"n1"}, prio(1), gpu(1));
  auto settings = session_settings();
  settings.group.limits.victims_per_decision = 2;

  const auto two = decide(built.view(), lone("new", prio(10), gpu(3)), settings);
  const auto three = decide(built.view(), lone("new", prio(10), gpu(4)), settings);

  EXPECT_EQ(two.victims.size(), 2u);
  EXPECT_EQ(three.result, outcome::infeasible);
  EXPECT_THAT(three.why.summary, HasSubstr("needs 3 victims and a decision may have 2"));
}

TEST(sessions, daemons_and_protected_members_never_go) {
  auto built = cluster().node("n1", gpu(8));
  built.pods("exporter", {"n1"}, prio(0), gpu(2), daemon());
  built.pods("leader", {"n1"}, prio(0), gpu(2), protected_index{0});
  built.pods("low", {"n1"}, prio(1), gpu(4));

  const auto made = decide(built.view(), lone("new", prio(10), gpu(4)), session_settings());
  const auto more = decide(built.view(), lone("new", prio(10), gpu(6)), session_settings());

  EXPECT_THAT(victims_of(made), UnorderedElementsAre("low"));
  EXPECT_EQ(more.result, outcome::infeasible);
}

TEST(sessions, a_search_ends_with_its_budget) {
  // A unit for the node, and one for each session in turn.
  auto built = cluster().node("n1", gpu(4));
  for (const auto* name : {"a", "b", "c", "d"})
    built.pods(name, {"n1"}, prio(1), gpu(1));
  const auto with = [&](std::int64_t budget) {
    auto settings = session_settings();
    settings.group.limits.search_budget = budget;
    return decide(built.view(), lone("new", prio(10), gpu(3)), settings);
  };

  const auto too_few = with(3);
  const auto enough = with(4);

  EXPECT_EQ(too_few.result, outcome::infeasible);
  EXPECT_THAT(too_few.victims, IsEmpty());
  EXPECT_TRUE(too_few.why.budget_reached);
  EXPECT_THAT(too_few.why.summary, HasSubstr("search budget"));
  EXPECT_EQ(enough.victims.size(), 3u);
  EXPECT_FALSE(enough.why.budget_reached);
}

TEST(sessions, the_search_budget_is_charged_per_domain) {
  auto built = cluster();
  for (const std::string zone : {"a", "b", "c"})
    built.node(zone, gpu(2), label{"zone", zone})
      .pods("in-" + zone, {zone, zone}, prio(zone == "c" ? 1 : 2), gpu(1));
  auto settings = session_settings();
  settings.group.limits.search_budget = 3;
  const auto who = gang("new", prio(10), members(2, gpu(1)), within{{"zone"}});

  const auto made = decide(built.view(), who, settings);

  EXPECT_THAT(victims_of(made), UnorderedElementsAre("in-c", "in-c"));
  EXPECT_FALSE(made.why.budget_reached);
}

TEST(sessions, where_groups_compete_the_fewest_that_were_found_to_do_go_when_the_budget_ends) {
  auto built = cluster().node("n1", gpu(16), cpu(16));
  for (int i = 0; i < 16; ++i)
    built.running("low" + std::to_string(i + 10), prio(1), gpu(1), cpu(1), started{i});
  const auto who = gang("new", prio(10), members(1, gpu(3), cpu(1)), members(1, gpu(1), cpu(2)));
  const auto with = [&](std::int64_t budget) {
    auto settings = session_settings();
    settings.group.limits.search_budget = budget;
    return decide(built.view(), who, settings);
  };

  const auto free = with(1000);
  const auto halved_once = with(1 + 8);
  const auto none = with(1 + 7);

  EXPECT_EQ(free.victims.size(), 4u);
  EXPECT_FALSE(free.why.budget_reached);
  EXPECT_EQ(halved_once.victims.size(), 8u);
  EXPECT_TRUE(halved_once.why.budget_reached);
  EXPECT_EQ(none.result, outcome::infeasible) << "nobody goes on what was not looked at";
  EXPECT_TRUE(none.why.budget_reached);
}

// -- the front of the queue is a session ---------------------------------------------------------

TEST(front_of_queue, all_that_one_session_waits_for_is_at_the_front) {
  std::vector<preemptor> waiting{lone("first", prio(9), gpu(1)), lone("first", prio(9), gpu(2)),
                                 lone("second", prio(8), gpu(1))};

  keep_to_the_front(waiting);

  EXPECT_TRUE(waiting[0].at_front);
  EXPECT_TRUE(waiting[1].at_front);
  EXPECT_FALSE(waiting[2].at_front);
}

TEST(front_of_line, is_whoever_is_first_found_not_to_fit) {
  const auto first = lone("first", prio(9), gpu(1));
  const auto second = lone("second", prio(8), gpu(1));
  const auto third = lone("third", prio(7), gpu(1));
  plan placed;
  placed.result = outcome::placed;
  front_of_line line;

  line.served(first, placed);
  EXPECT_TRUE(line.has(second)) << "the first does not wait any more";
  line.served(lone("daemon", prio(9), gpu(1), required{"n1"}), plan{});
  EXPECT_TRUE(line.has(second)) << "a daemon is no session";
  line.served(second, plan{});

  EXPECT_TRUE(line.has(second));
  EXPECT_FALSE(line.has(third));
}

} // namespace reprieve::tests
