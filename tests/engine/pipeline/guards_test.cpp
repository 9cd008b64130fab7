#include "tests/engine/worlds/plan_reading.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace reprieve::tests {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

TEST(guards, a_workload_that_was_preempted_often_enough_stays) {
  const auto view = cluster()
                      .node("n1", gpu(8))
                      .running("often", prio(1), gpu(4))
                      .running("never", prio(2), gpu(4))
                      .view();
  auto settings = open_settings();
  settings.group.limits.preemptions_per_workload_per_hour = 2;
  settings.recent_preemptions = {{"often", 2}, {"never", 1}};

  const auto made = decide(view, lone("new", prio(10), gpu(4)), settings);

  EXPECT_THAT(victims_of(made), UnorderedElementsAre("never"));
  EXPECT_THAT(reason_for(made.why.passed_over, "often"), HasSubstr("2 times in the last hour"));
}

TEST(guards, where_no_preemption_is_allowed_in_an_hour_nobody_goes) {
  const auto view = cluster().node("n1", gpu(8)).running("calm", prio(1), gpu(8)).view();
  auto settings = open_settings();
  settings.group.limits.preemptions_per_workload_per_hour = 0;

  const auto made = decide(view, lone("new", prio(10), gpu(4)), settings);

  EXPECT_EQ(made.result, plan::outcome::infeasible);
  EXPECT_THAT(victims_of(made), IsEmpty());
}

TEST(guards, how_often_a_workload_was_preempted_does_not_matter_without_a_limit) {
  const auto view = cluster().node("n1", gpu(8)).running("often", prio(1), gpu(8)).view();
  auto settings = open_settings();
  settings.recent_preemptions = {{"often", 100}};

  const auto made = decide(view, lone("new", prio(10), gpu(4)), settings);

  EXPECT_THAT(victims_of(made), UnorderedElementsAre("often"));
}

TEST(guards, a_workloads_own_minimum_runtime_counts_beside_the_groups) {
  auto young = [](pod& p) { p.minimum_runtime = std::chrono::hours{2}; };
  const auto view = cluster()
                      .node("n1", gpu(8))
                      .running("young", prio(1), gpu(4), started{0}, young)
                      .running("other", prio(2), gpu(4), started{0})
                      .view();
  auto settings = open_settings();
  settings.group.limits.minimum_runtime = std::chrono::minutes{1};

  const auto made = decide(view, lone("new", prio(10), gpu(4)), settings);

  EXPECT_THAT(victims_of(made), UnorderedElementsAre("other"));
  EXPECT_THAT(reason_for(made.why.passed_over, "young"), HasSubstr("minimum runtime of 2h"));
}

TEST(guards, a_search_that_reaches_its_budget_says_so_and_takes_the_best_so_far) {
  auto built = cluster();
  std::vector<std::string> nodes;
  for (int i = 0; i < 6; ++i) {
    nodes.push_back("n" + std::to_string(i));
    built.node(nodes.back(), gpu(4));
    built.running("a" + std::to_string(i), prio(1 + i % 3), gpu(2));
    built.running("b" + std::to_string(i), prio(1 + i % 2), gpu(2));
  }
  const auto view = built.view();
  const auto who = gang("new", prio(10), members(3, gpu(4)));
  auto settings = open_settings();
  settings.group.limits.search_budget = 8;

  const auto made = decide(view, who, settings);

  EXPECT_EQ(made.result, plan::outcome::preempts);
  EXPECT_TRUE(made.why.budget_reached);
  EXPECT_THAT(made.why.summary, HasSubstr("best found so far, budget reached"));
  const auto free = decide(view, who, open_settings());
  EXPECT_FALSE(free.why.budget_reached);
  EXPECT_LE(free.scored.pods, made.scored.pods);
}

TEST(guards, more_victims_than_a_decision_may_have_make_a_domain_infeasible) {
  auto built = cluster().node("n1", gpu(8));
  for (int i = 0; i < 4; ++i)
    built.running("w" + std::to_string(i), prio(1), gpu(2));
  auto settings = open_settings();
  settings.group.limits.victims_per_decision = 3;

  const auto made = decide(built.view(), lone("new", prio(10), gpu(8)), settings);

  EXPECT_EQ(made.result, plan::outcome::infeasible);
  EXPECT_THAT(made.victims, IsEmpty());
  EXPECT_THAT(outcome_of(made, "n1").reason,
              HasSubstr("4 victims are the fewest that were found to be enough, and a decision "
                        "may have 3"));
}

TEST(guards, are_all_off_unless_set) {
  auto built = cluster().node("n1", gpu(12));
  built.running("young", prio(1), gpu(1), started{3600});
  built.running("shy", prio(1), gpu(1), opted_out());
  built.running("often", prio(1), gpu(1));
  built.pods("many", {"n1", "n1", "n1", "n1", "n1", "n1", "n1", "n1", "n1"}, prio(1), gpu(1));
  auto settings = open_settings();
  settings.recent_preemptions = {{"often", 1000}};

  const auto made = decide(built.view(), lone("new", prio(10), gpu(12)), settings);

  EXPECT_EQ(made.victims.size(), 12u);
  EXPECT_FALSE(made.why.budget_reached);
}

TEST(guards, the_search_budget_is_charged_per_domain) {
  auto built = cluster();
  for (const std::string zone : {"a", "b", "c"})
    for (int i = 0; i < 4; ++i)
      built.node(zone + std::to_string(i), gpu(2), label{"zone", zone})
        .running(zone + "-w" + std::to_string(i), prio(1), gpu(2));
  const auto view = built.view();
  const auto in_one_zone = gang("new", prio(10), members(2, gpu(2)), within{{"zone"}});
  // What one zone costs to search, all of them together cost more than.
  std::int64_t enough = 1;
  const auto reached_with = [&](const preemptor& who, std::int64_t budget) {
    auto settings = open_settings();
    settings.group.limits.search_budget = budget;
    return decide(view, who, settings).why.budget_reached;
  };
  auto in_first_zone = in_one_zone;
  in_first_zone.groups.front().node_selector = {{"zone", "a"}};
  while (enough < 10'000 && reached_with(in_first_zone, enough))
    ++enough;

  EXPECT_GT(enough, 4) << "each node costs a unit at least";
  EXPECT_TRUE(reached_with(in_one_zone, enough - 1));
  EXPECT_FALSE(reached_with(in_one_zone, enough));
}

TEST(guards, a_group_with_a_member_that_opted_out_stays_whole_where_that_is_a_veto) {
  const auto second_opts_out = [](pod& p) { p.opted_out = p.index == 1; };
  const auto view = cluster()
                      .node("n1", gpu(8))
                      .running("low", prio(2), gpu(4))
                      .node("n2", gpu(8))
                      .running("important", prio(50), gpu(4))
                      .group("shy", {"n1", "n2"}, prio(1), gpu(4), second_opts_out)
                      .view();
  auto settings = open_settings();
  settings.group.limits.opt_out_is_veto = true;

  const auto made = decide(view, lone("new", prio(10), gpu(4)), settings);

  EXPECT_THAT(victims_of(made), UnorderedElementsAre("low"));
  EXPECT_THAT(reason_for(made.why.passed_over, "shy"), HasSubstr("opted out"));
}

TEST(guards, a_group_has_run_since_the_first_of_its_pods_started) {
  const auto second_started_late = [](pod& p) { p.started = at(p.index == 1 ? 3500 : 0); };
  const auto view = cluster()
                      .node("n1", gpu(8))
                      .node("n2", gpu(8))
                      .group("low", {"n1", "n2"}, prio(1), gpu(8), second_started_late)
                      .view();
  auto settings = open_settings();
  settings.group.limits.minimum_runtime = std::chrono::minutes{15};

  EXPECT_EQ(decide(view, lone("new", prio(10), gpu(8)), settings).result, plan::outcome::preempts);
}

TEST(guards, a_victim_is_a_portion_however_many_pods_it_has) {
  const auto view = cluster()
                      .node("n1", gpu(8))
                      .node("n2", gpu(8))
                      .node("n3", gpu(8))
                      .group("whole", {"n1", "n2", "n3"}, prio(1), gpu(8))
                      .view();
  auto settings = open_settings();
  settings.group.limits.victims_per_decision = 1;

  const auto made = decide(view, lone("new", prio(10), gpu(8)), settings);

  EXPECT_THAT(victims_of(made), UnorderedElementsAre("whole"));
}

TEST(guards, where_the_cheapest_victims_are_too_many_dearer_ones_that_are_fewer_go) {
  // Three pods that go one by one weigh less than a group of four, but they are three victims.
  auto built = cluster().node("n1", gpu(8)).node("n2", gpu(12), tainted{"reserved"});
  built.group("whole", {"n1", "n2", "n2", "n2"}, prio(1), gpu(4));
  built.pods("a", {"n1", "n1"}, prio(1), gpu(1));
  built.pods("b", {"n1"}, prio(1), gpu(2));
  auto settings = open_settings();
  const auto who = lone("new", prio(10), gpu(4));

  const auto without = decide(built.view(), who, settings);
  settings.group.limits.victims_per_decision = 2;
  const auto with = decide(built.view(), who, settings);

  EXPECT_THAT(victims_of(without), UnorderedElementsAre("a", "a", "b"));
  EXPECT_THAT(victims_of(with), UnorderedElementsAre("whole"));
}

TEST(guards, where_the_lowest_threshold_takes_too_many_victims_a_higher_one_is_tried) {
  const auto view = cluster()
                      .node("n1", gpu(16))
                      .running("a", prio(1), gpu(4))
                      .running("b", prio(1), gpu(4))
                      .running("c", prio(3), gpu(8))
                      .view();
  auto settings = open_settings();
  settings.group.limits.victims_per_decision = 1;

  const auto alone = decide(view, lone("new", prio(5), gpu(8)), settings);
  const auto together = decide(view, gang("new", prio(5), members(2, gpu(4))), settings);

  EXPECT_THAT(victims_of(alone), UnorderedElementsAre("c"));
  EXPECT_THAT(victims_of(together), UnorderedElementsAre("c"));
  EXPECT_EQ(together.why.threshold, 3);
}

TEST(guards, of_those_that_are_few_enough_the_cheapest_goes_not_the_largest) {
  const auto view = cluster()
                      .node("n1", gpu(28))
                      .running("a", prio(1), gpu(4))
                      .running("b", prio(1), gpu(4))
                      .running("largest", prio(3), gpu(12), started{0})
                      .running("cheapest", prio(3), gpu(8), started{3500})
                      .view();
  auto settings = open_settings();
  settings.group.limits.victims_per_decision = 1;

  const auto made = decide(view, lone("new", prio(5), gpu(8)), settings);

  EXPECT_THAT(victims_of(made), UnorderedElementsAre("cheapest"));
}

TEST(guards, one_large_victim_among_very_many_small_ones_is_found) {
  auto built = cluster();
  for (int n = 0; n < 4; ++n) {
    const auto name = "n" + std::to_string(n);
    built.node(name, gpu(80));
    built.pods("small-" + name, std::vector<std::string>(64, name), prio(1), gpu(1));
    built.running("large-" + name, prio(3 + n), gpu(16));
  }
  auto settings = open_settings();
  settings.group.limits.victims_per_decision = 1;

  const auto alone = decide(built.view(), lone("new", prio(10), gpu(16)), settings);
  const auto together = decide(built.view(), gang("new", prio(10), members(2, gpu(8))), settings);

  EXPECT_THAT(victims_of(alone), UnorderedElementsAre("large-n0"));
  EXPECT_THAT(victims_of(together), UnorderedElementsAre("large-n0"));
}

} // namespace reprieve::tests
