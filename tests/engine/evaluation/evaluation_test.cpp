#include "preemption/engine.hpp"
#include "preemption/evaluation/score_bounds.hpp"
#include "tests/engine/worlds/plan_reading.hpp"
#include "tests/engine/worlds/random_cluster.hpp"
#include "tests/engine/worlds/sharded_cluster.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

/// The plan is the same for any number of shards and any order of their answers
/// (docs/architecture.md#invariants).
namespace reprieve::tests {

namespace {

constexpr std::size_t shard_counts[] = {1, 2, 3, 8, 64};

struct shard_case {
  cluster in;
  preemptor who;
  plan_settings settings;
};

shard_case draw_case(std::uint64_t seed, const std::function<preemptor()>& draw, depth deepest) {
  const cluster_traits varied{
    .varied = true, .crowded = seed % 2 == 0, .most_nodes = 10, .most_pods = 120};
  return rc::gen::exec([&] {
           return shard_case{draw_cluster(varied), draw(), draw_settings(deepest)};
         })(rc::Random{seed}, rc::kNominalSize)
    .value();
}

/// How often plans came out how.
struct tally {
  int preempting = 0;
  int infeasible = 0;
};

tally compare_over_shards(std::uint64_t first_seed, std::uint64_t clusters,
                          const std::function<preemptor()>& draw, depth deepest,
                          sharded_cluster::cards known = sharded_cluster::cards::with) {
  tally seen;
  for (auto seed = first_seed; seed < first_seed + clusters; ++seed) {
    const auto [in, who, settings] = draw_case(seed, draw, deepest);
    const auto merged = in.view();
    const auto whole = decide(merged, who, settings);
    seen.preempting += whole.result == plan::outcome::preempts ? 1 : 0;
    seen.infeasible += whole.result == plan::outcome::infeasible ? 1 : 0;
    std::mt19937_64 random{seed};
    for (const auto shards : shard_counts) {
      const sharded_cluster split{in, merged, shards, random, known};
      const auto most = random() % 4 == 0 ? 32 : random() % 4;
      live_hints hints{merged, split.evaluated(request_for(who, settings, most), random)};
      const auto made = decide(merged, who, settings, hints);
      EXPECT_EQ(made, whole) << "seed " << seed << ", " << shards << " shards, most " << most
                             << ": " << what_differs(made, whole);
      if (made != whole)
        return seen;
    }
  }
  return seen;
}

} // namespace

TEST(evaluation, of_a_lone_pod_is_the_same_over_any_shards) {
  const auto seen = compare_over_shards(1'000'000, 2'500, draw_lone_pod, depth::chosen);
  EXPECT_GT(seen.preempting, 500);
  EXPECT_GT(seen.infeasible, 100);
}

TEST(evaluation, of_a_gang_of_one_template_is_the_same_over_any_shards) {
  const auto seen =
    compare_over_shards(2'000'000, 1'500, draw_gang_of_one_template, depth::summary);
  EXPECT_GT(seen.preempting, 250);
  EXPECT_GT(seen.infeasible, 100);
}

TEST(evaluation, of_a_gang_within_racks_is_the_same_over_any_shards) {
  const auto seen = compare_over_shards(3'000'000, 2'000, draw_gang_within_racks, depth::summary);
  EXPECT_GT(seen.preempting, 150);
  EXPECT_GT(seen.infeasible, 100);
}

TEST(evaluation, of_anyone_tells_all_there_is_to_tell) {
  const auto seen = compare_over_shards(4'000'000, 500, draw_anyone, depth::all);
  EXPECT_GT(seen.preempting, 100);
}

TEST(evaluation, of_a_lone_pod_holds_without_a_word_on_pods_elsewhere) {
  const auto seen = compare_over_shards(5'000'000, 500, draw_lone_pod, depth::chosen,
                                        sharded_cluster::cards::without);
  EXPECT_GT(seen.preempting, 100);
}

TEST(evaluation, bounds_nodes_as_the_whole_view_does) {
  constexpr std::size_t all = 1'000;
  int compared = 0;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    const auto [in, who, settings] = draw_case(seed, draw_lone_pod, depth::chosen);
    const auto merged = in.view();
    const problem given{merged, who, settings};
    std::mt19937_64 random{seed};
    const sharded_cluster split{in, merged, 3, random};
    for (const auto& answer : split.evaluated(request_for(who, settings, all), random))
      for (const auto& [name, bound] : answer.listed) {
        const auto whole = bound_on_node(given, merged.find_node(name));
        ASSERT_TRUE(whole.has_value());
        ASSERT_LE(bound.work_lost, whole->work_lost) << "seed " << seed << " on " << name;
        auto rounded = bound;
        rounded.work_lost = whole->work_lost; // a mean of means is later by less than a second
        ASSERT_EQ(rounded, lasting(*whole, settings.now)) << "seed " << seed << " on " << name;
        ++compared;
      }
  }
  EXPECT_GT(compared, 500);
}

TEST(evaluation, is_the_same_in_many_blocks_of_nodes_with_any_search_budget) {
  int reached = 0;
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    std::mt19937_64 random{seed};
    const auto in = full_of_groups(200, random);
    const auto merged = in.view();
    const sharded_cluster split{in, merged, shard_counts[seed % 5], random};
    for (std::int64_t budget = 1; budget < 30; budget += 2) {
      auto settings = open_settings();
      settings.explained = depth::chosen;
      settings.group.minimised = seed % 2 == 0 ? minimise::pods : minimise::work;
      settings.group.limits.search_budget = budget;
      const auto who = lone("new", prio(10), gpu(1 + budget % 4));

      const auto whole = decide(merged, who, settings);
      live_hints seen{merged, split.evaluated(request_for(who, settings, 4), random)};
      const auto made = decide(merged, who, settings, seen);

      ASSERT_EQ(what_differs(made, whole), "") << "seed " << seed << ", budget " << budget;
      reached += whole.why.budget_reached ? 1 : 0;
    }
  }
  EXPECT_GT(reached, 20);
}

TEST(evaluation, lets_a_node_win_by_name_that_was_not_listed) {
  // On n9 a look at the most that one pod holds promises less than what has to go.
  const auto view = cluster()
                      .node("n2", memory(2), cpu(2))
                      .running("a", prio(1), memory(1), cpu(1))
                      .running("b", prio(1), memory(1), cpu(1))
                      .node("n9", memory(2), cpu(2))
                      .running("c", prio(1), memory(2))
                      .running("d", prio(1), cpu(2))
                      .view();
  const auto who = lone("new", prio(10), memory(2), cpu(2));
  auto settings = open_settings();
  settings.explained = depth::chosen;
  const auto answer = evaluate(view, request_for(who, settings, 1));
  ASSERT_EQ(answer.listed.front().node, "n9");
  ASSERT_EQ(answer.rest->node, "n2");

  live_hints seen{view, {answer}};
  const auto made = decide(view, who, settings, seen);

  EXPECT_EQ(victims_of(made), (std::multiset<std::string>{"a", "b"}));
}

namespace {

/// Zone a costs a gang less than zone b: its pod with a GPU fits on one node, its other on another.
cluster two_zones() {
  return cluster()
    .node("a1", gpu(4), cpu(1), label{"zone", "a"})
    .running("cheap", prio(1), gpu(4))
    .node("a2", cpu(8), label{"zone", "a"})
    .running("cheap-too", prio(1), cpu(8))
    .node("b1", gpu(4), cpu(8), label{"zone", "b"})
    .running("dear", prio(5), gpu(4), cpu(8));
}

preemptor in_one_zone() {
  return gang("new", prio(10), members(1, gpu(4), cpu(1)), members(1, cpu(4)), within{{"zone"}});
}

} // namespace

TEST(evaluation, counts_seats_of_a_group_where_no_node_has_what_another_group_asks_for) {
  const auto in = two_zones();
  const auto merged = in.view();
  const auto who = in_one_zone();
  auto settings = open_settings();
  settings.explained = depth::summary;
  std::mt19937_64 random{1};
  const sharded_cluster split{in, merged, 64, random};

  live_hints seen{merged, split.evaluated(request_for(who, settings), random)};
  const auto made = decide(merged, who, settings, seen);

  EXPECT_EQ(victims_of(made), (std::multiset<std::string>{"cheap", "cheap-too"}));
}

TEST(evaluation, rules_no_domain_out_that_was_touched) {
  const auto in = two_zones();
  const auto who = in_one_zone();
  auto settings = open_settings();
  settings.explained = depth::summary;
  auto closed = in.all_nodes()[1];
  closed.schedulable = false;
  auto before = in.view();
  before.put_node(closed);
  before.settle();
  const std::vector answers{evaluate(before, request_for(who, settings))};

  live_hints untouched{before, answers};
  const auto open = in.view();
  live_hints touched{open, answers, {open.find_node("a2")}};
  EXPECT_EQ(victims_of(decide(before, who, settings, untouched)),
            std::multiset<std::string>{"dear"});
  EXPECT_EQ(victims_of(decide(open, who, settings, touched)),
            (std::multiset<std::string>{"cheap", "cheap-too"}));
}

TEST(evaluation, is_done_without_answers_that_are_not_of_all_nodes) {
  const auto in = cluster()
                    .node("n1", gpu(8))
                    .running("a", prio(2), gpu(8))
                    .node("n2", gpu(8))
                    .running("b", prio(1), gpu(8));
  const auto merged = in.view();
  const auto who = lone("new", prio(10), gpu(4));
  auto settings = open_settings();
  settings.explained = depth::chosen;
  const auto of_first = evaluate(cluster().node("n1", gpu(8)).running("a", prio(2), gpu(8)).view(),
                                 request_for(who, settings));

  live_hints seen{merged, {of_first}};
  const auto made = decide(merged, who, settings, seen);

  EXPECT_EQ(victims_of(made), std::multiset<std::string>{"b"});
}

TEST(evaluation, asks_for_the_size_of_a_gang_not_for_its_pods) {
  const auto asked = request_for(gang("new", prio(3), members(500, gpu(2))), open_settings());

  ASSERT_EQ(asked.who.groups.size(), 1U);
  EXPECT_EQ(asked.who.groups.front().pods.size(), 1U);
  EXPECT_EQ(asked.who.groups.front().pods.front().requests.at("gpu"), 2000);
}

} // namespace reprieve::tests
