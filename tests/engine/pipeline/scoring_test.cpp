#include "preemption/pipeline/scoring.hpp"
#include "tests/engine/worlds/plan_reading.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace reprieve::tests {

using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

namespace {

struct line_of_the_order {
  std::string name;
  std::function<void(score&)> worsen;
};

/// Each line of docs/policies.md#workload-aware step 9, and how to be worse by it; earlier lines
/// count for more.
std::vector<line_of_the_order> order_by_pods() {
  return {{"budgets", [](score& s) { s.budget_violations = 1; }},
          {"priority", [](score& s) { s.highest_victim_priority = 1; }},
          {"cascade", [](score& s) { s.cascades = true; }},
          {"sum", [](score& s) { s.priority_sum = 1; }},
          {"pods", [](score& s) { s.pods = 1; }},
          {"importance", [](score& s) { s.most_important.group = true; }},
          {"work", [](score& s) { s.work_lost = 1; }},
          {"start", [](score& s) { s.earliest_start_of_most_important = at(-1); }}};
}

score neutral() {
  score s;
  s.earliest_start_of_most_important = s.most_important.start = at(0);
  return s;
}

void expect_order(const std::vector<line_of_the_order>& lines, minimise minimised) {
  for (std::size_t i = 0; i < lines.size(); ++i) {
    auto worse = neutral();
    lines[i].worsen(worse);
    auto worse_in_all_that_follows = neutral();
    for (std::size_t k = i + 1; k < lines.size(); ++k)
      lines[k].worsen(worse_in_all_that_follows);

    EXPECT_TRUE(better(worse_in_all_that_follows, worse, minimised)) << lines[i].name;
    EXPECT_FALSE(better(worse, worse_in_all_that_follows, minimised)) << lines[i].name;
    EXPECT_FALSE(why_worse(worse, neutral(), minimised).empty()) << lines[i].name;
  }
}

} // namespace

TEST(scoring, every_line_of_the_order_outweighs_all_that_follow) {
  expect_order(order_by_pods(), minimise::pods);
}

TEST(scoring, minimising_work_moves_it_up_behind_the_cascade) {
  auto lines = order_by_pods();
  std::rotate(lines.begin() + 3, lines.begin() + 6, lines.begin() + 7);
  ASSERT_EQ(lines[3].name, "work");

  expect_order(lines, minimise::work);
}

TEST(scoring, equal_scores_are_not_better_than_each_other) {
  EXPECT_FALSE(better(neutral(), neutral(), minimise::pods));
  EXPECT_EQ(why_worse(neutral(), neutral(), minimise::pods), "");
}

TEST(scoring, the_sum_of_priorities_counts_every_pod_that_goes_even_of_negative_priority) {
  const auto view = cluster()
                      .node("n1", gpu(2))
                      .node("n2", gpu(2))
                      .group("low", {"n1", "n2"}, prio(-5), gpu(2))
                      .view();

  const auto made = decide(view, lone("new", prio(0), gpu(2)), open_settings());

  EXPECT_EQ(made.scored.priority_sum, 2 * ((std::int64_t{1} << 31) - 5));
  EXPECT_EQ(made.scored.highest_victim_priority, -5);
}

TEST(scoring, fewer_pods_win_where_the_highest_priority_is_the_same) {
  auto built = cluster().node("n1", gpu(4)).node("n2", gpu(4));
  built.pods("two", {"n1", "n1"}, prio(1), gpu(2));
  built.pods("one", {"n2"}, prio(1), gpu(4));

  const auto made = decide(built.view(), lone("new", prio(10), gpu(4)), open_settings());

  EXPECT_THAT(victims_of(made), UnorderedElementsAre("one"));
}

TEST(scoring, work_is_counted_since_the_last_checkpoint_in_gpu_seconds) {
  const auto view = cluster()
                      .node("n1", gpu(8))
                      .node("n2", gpu(8))
                      .group("train", {"n1", "n2"}, prio(1), gpu(8), started{0}, checkpointed{3500})
                      .view();

  const auto made = decide(view, lone("new", prio(10), gpu(8)), open_settings());

  ASSERT_EQ(made.victims.size(), 1u);
  EXPECT_EQ(made.victims[0].work_lost, 2 * 8 * 100);
  EXPECT_EQ(made.scored.work_lost, 1600);
}

TEST(scoring, a_checkpoint_of_an_earlier_run_saves_nothing_of_this_one) {
  const auto view = cluster()
                      .node("n1", gpu(8))
                      .running("again", prio(1), gpu(8), started{3000}, checkpointed{100})
                      .view();

  const auto made = decide(view, lone("new", prio(10), gpu(8)), open_settings());

  EXPECT_EQ(made.scored.work_lost, 8 * 600);
}

TEST(scoring, what_has_not_started_loses_no_work) {
  auto built = cluster().node("n1", gpu(8));
  built.running("bound", prio(1), gpu(8), in_phase{pod_phase::bound});
  auto pods = built.all_pods();
  pods[0].started = no_time;

  const auto made =
    decide(view_of(built.all_nodes(), pods, {}), lone("new", prio(10), gpu(8)), open_settings());

  EXPECT_EQ(made.scored.work_lost, 0);
  EXPECT_EQ(made.scored.earliest_start_of_most_important, open_settings().now);
}

TEST(scoring, the_one_who_has_just_checkpointed_goes) {
  const auto view = cluster()
                      .node("n1", gpu(8))
                      .running("stale", prio(1), gpu(8), started{0})
                      .node("n2", gpu(8))
                      .running("fresh", prio(1), gpu(8), started{0}, checkpointed{3590})
                      .view();

  const auto made = decide(view, lone("new", prio(10), gpu(8)), open_settings());

  EXPECT_THAT(victims_of(made), UnorderedElementsAre("fresh"));
  EXPECT_THAT(outcome_of(made, "n1").reason, HasSubstr("loses 28800 GPU-seconds of work, not 80"));
}

TEST(scoring, minimising_work_takes_more_pods_that_lose_less) {
  auto built = cluster().node("n1", gpu(8)).node("n2", gpu(8));
  built.pods("one", {"n1"}, prio(1), gpu(8), started{0});
  built.pods("two", {"n2", "n2"}, prio(1), gpu(4), started{0}, checkpointed{3599});
  auto settings = open_settings();

  const auto by_pods = decide(built.view(), lone("new", prio(10), gpu(8)), settings);
  settings.group.minimised = minimise::work;
  const auto by_work = decide(built.view(), lone("new", prio(10), gpu(8)), settings);

  EXPECT_THAT(victims_of(by_pods), UnorderedElementsAre("one"));
  EXPECT_THAT(victims_of(by_work), UnorderedElementsAre("two", "two"));
}

TEST(scoring, the_latest_start_goes_where_all_else_is_equal) {
  const auto view = cluster()
                      .node("n1", cpu(8))
                      .running("older", prio(1), cpu(8), started{10})
                      .node("n2", cpu(8))
                      .running("younger", prio(1), cpu(8), started{20})
                      .view();

  const auto made = decide(view, lone("new", prio(10), cpu(8)), open_settings());

  EXPECT_THAT(victims_of(made), UnorderedElementsAre("younger"));
}

TEST(scoring, names_decide_last_and_by_their_bytes) {
  const auto view = cluster()
                      .node("n9", cpu(8))
                      .running("b", prio(1), cpu(8))
                      .node("n10", cpu(8))
                      .running("a", prio(1), cpu(8))
                      .view();

  const auto made = decide(view, lone("new", prio(10), cpu(8)), open_settings());

  EXPECT_TRUE(outcome_of(made, "n10").chosen);
  EXPECT_THAT(outcome_of(made, "n9").reason, HasSubstr("n10 comes first by name"));
}

TEST(cascade, is_a_victim_that_finds_no_room_while_somebody_is_below_it) {
  const auto view = cluster()
                      .node("n1", gpu(8), label{"zone", "a"})
                      .running("victim", prio(5), gpu(8))
                      .node("n2", gpu(8))
                      .running("lower", prio(1), gpu(8))
                      .view();

  const auto made =
    decide(view, lone("new", prio(10), gpu(8), selecting{"zone", "a"}), open_settings());

  EXPECT_TRUE(made.scored.cascades);
}

TEST(cascade, does_not_happen_where_those_below_hold_too_little_for_the_victim) {
  const auto view = cluster()
                      .node("n1", gpu(8))
                      .running("victim", prio(5), gpu(8))
                      .node("n2", gpu(4), cpu(64))
                      .running("lower", prio(1), gpu(4))
                      .running("without", prio(1), cpu(64))
                      .view();

  const auto made = decide(view, lone("new", prio(10), gpu(8)), open_settings());

  EXPECT_FALSE(made.scored.cascades);
}

TEST(cascade, does_not_happen_where_only_daemons_are_below) {
  const auto view = cluster()
                      .node("n1", gpu(8), label{"zone", "a"})
                      .running("victim", prio(5), gpu(8))
                      .node("n2", gpu(8))
                      .running("agent", prio(1), gpu(8), daemon())
                      .view();

  const auto made =
    decide(view, lone("new", prio(10), gpu(8), selecting{"zone", "a"}), open_settings());

  EXPECT_FALSE(made.scored.cascades);
}

TEST(cascade, looks_only_at_nodes_that_the_victim_may_run_on) {
  const auto view = cluster()
                      .node("n1", gpu(8), label{"zone", "a"})
                      .running("victim", prio(5), gpu(8))
                      .node("n2", gpu(8))
                      .running("lower", prio(1), gpu(8))
                      .node("n3", gpu(8), tainted{"reserved"})
                      .view();
  auto settings = open_settings();
  pod_group of_victim;
  settings.origins.find = [&](const portion_id& of) -> std::optional<pod_origin> {
    if (of.workload != "victim")
      return std::nullopt;
    return pod_origin{&of_victim, {.priority = 5, .preemption_priority = 5}};
  };
  const auto new_one = lone("new", prio(10), gpu(8), selecting{"zone", "a"});

  EXPECT_TRUE(decide(view, new_one, settings).scored.cascades) << "n3 is free, but not for it";
  of_victim.pods.node_selector = {{"zone", "a"}};
  EXPECT_FALSE(decide(view, new_one, settings).scored.cascades) << "it would wait";
  of_victim.pods.node_selector.clear();
  of_victim.pods.tolerations = {{"reserved", true, "", std::nullopt}};
  EXPECT_FALSE(decide(view, new_one, settings).scored.cascades) << "n3 is free for it";
}

TEST(cascade, does_not_happen_where_the_victim_does_not_come_back) {
  const auto view = cluster()
                      .node("n1", gpu(8), label{"zone", "a"})
                      .running("victim", prio(5), gpu(8))
                      .node("n2", gpu(8))
                      .running("lower", prio(1), gpu(8))
                      .view();
  auto settings = open_settings();
  const pod_group of_victim;
  bool comes_back = true;
  settings.origins.find = [&](const portion_id&) -> std::optional<pod_origin> {
    return pod_origin{&of_victim, {.priority = 5, .preemption_priority = 5}, comes_back};
  };
  const auto new_one = lone("new", prio(10), gpu(8), selecting{"zone", "a"});

  EXPECT_TRUE(decide(view, new_one, settings).scored.cascades);
  comes_back = false;
  EXPECT_FALSE(decide(view, new_one, settings).scored.cascades);
}

TEST(cascade, does_not_happen_where_nobody_is_below_the_victim) {
  const auto view = cluster()
                      .node("n1", gpu(8))
                      .running("victim", prio(5), gpu(8))
                      .node("n2", gpu(4))
                      .running("peer", prio(5), gpu(4))
                      .view();

  const auto made = decide(view, lone("new", prio(10), gpu(8)), open_settings());

  EXPECT_FALSE(made.scored.cascades);
}

TEST(cascade, does_not_happen_where_only_other_victims_are_below) {
  auto built = cluster().node("n1", gpu(8));
  built.running("more", prio(5), gpu(4));
  built.running("less", prio(1), gpu(4));

  const auto made = decide(built.view(), lone("new", prio(10), gpu(8)), open_settings());

  EXPECT_EQ(made.victims.size(), 2u);
  EXPECT_FALSE(made.scored.cascades);
}

TEST(cascade, does_not_happen_where_the_victim_finds_room_elsewhere) {
  const auto view = cluster()
                      .node("n1", gpu(8))
                      .running("victim", prio(5), gpu(2))
                      .running("high", prio(50), gpu(6))
                      .node("n2", gpu(8), tainted{"reserved"})
                      .running("lower", prio(1), gpu(6))
                      .view();

  const auto made = decide(view, lone("new", prio(10), gpu(2)), open_settings());

  EXPECT_THAT(victims_of(made), UnorderedElementsAre("victim"));
  EXPECT_FALSE(made.scored.cascades);
}

TEST(cascade, two_victims_do_not_find_the_same_room) {
  auto built = cluster().node("n1", gpu(4)).node("n2", gpu(8), tainted{"reserved"});
  built.running("lower", prio(1), gpu(6));
  built.pods("two", {"n1", "n1"}, prio(5), gpu(2));

  const auto made = decide(built.view(), lone("new", prio(10), gpu(4)), open_settings());

  EXPECT_EQ(made.victims.size(), 2u);
  EXPECT_TRUE(made.scored.cascades);
}

TEST(cascade, a_node_without_it_wins_over_one_with_fewer_pods) {
  auto built = cluster()
                 .node("n1", gpu(4))
                 .node("n2", gpu(4))
                 .node("n3", gpu(8), tainted{"reserved"})
                 .running("lower", prio(1), gpu(6));
  built.pods("large", {"n1"}, prio(5), gpu(4));
  built.pods("small", {"n2", "n2"}, prio(5), gpu(2));
  built.pods("other", {"n3"}, prio(50), gpu(0));
  auto one_more = built;
  one_more.node("n4", gpu(2), tainted{"reserved"});

  const auto both_cascade = decide(built.view(), lone("new", prio(10), gpu(4)), open_settings());
  const auto one_does = decide(one_more.view(), lone("new", prio(10), gpu(4)), open_settings());

  EXPECT_THAT(victims_of(both_cascade), UnorderedElementsAre("large"));
  EXPECT_THAT(victims_of(one_does), UnorderedElementsAre("small", "small"));
}

TEST(cascade, a_domain_without_it_wins_for_a_gang_too) {
  auto built = cluster()
                 .node("n1", gpu(4), label{"zone", "a"})
                 .node("n2", gpu(4), label{"zone", "b"})
                 .node("n3", gpu(4), tainted{"reserved"})
                 .running("lower", prio(1), gpu(3))
                 .node("n4", gpu(2), tainted{"reserved"});
  built.group("large", {"n1"}, prio(5), gpu(4));
  built.pods("small", {"n2", "n2"}, prio(5), gpu(2));

  const auto who = gang("new", prio(10), members(1, gpu(4)), within{{"zone"}});
  const auto both_cascade = decide(built.view(), who, open_settings());
  built.node("n5", gpu(2), tainted{"reserved"});
  const auto one_does = decide(built.view(), who, open_settings());

  EXPECT_THAT(victims_of(both_cascade), UnorderedElementsAre("large"));
  EXPECT_THAT(victims_of(one_does), UnorderedElementsAre("small", "small"));
  EXPECT_THAT(outcome_of(one_does, "zone=a").reason, HasSubstr("would have to preempt others"));
}

} // namespace reprieve::tests
