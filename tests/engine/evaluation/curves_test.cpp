#include "preemption/evaluation/curves.hpp"
#include "preemption/room/seating.hpp"
#include "tests/engine/worlds/plan_reading.hpp"
#include "tests/engine/worlds/random_cluster.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace reprieve::tests {

namespace {

std::vector<node_row> all_nodes(const cluster_view& view) {
  std::vector<node_row> nodes;
  for (std::size_t b = 0; b < view.blocks().count(); ++b)
    for (const auto n : view.blocks().at(b).nodes)
      nodes.push_back(n);
  return nodes;
}

} // namespace

TEST(curves, say_how_many_fit_at_each_priority) {
  const auto view = cluster()
                      .node("n1", gpu(8))
                      .running("a", prio(1), gpu(4))
                      .running("b", prio(3), gpu(2))
                      .node("n2", gpu(4))
                      .running("c", prio(2), gpu(4))
                      .view();
  const auto who = gang("new", prio(3), members(2, gpu(2)));
  const auto settings = open_settings();
  const problem given{view, who, settings};
  const candidate_rules rules{given};

  const auto curve = curves_of(given, rules, all_nodes(view)).front();

  EXPECT_EQ(curve.free, 1);
  EXPECT_EQ(curve.points, (std::vector<capacity_curve::point>{{1, 3}, {2, 5}}));
  EXPECT_EQ(curve.seats_at(0), 1);
  EXPECT_EQ(curve.seats_at(9), 5) << "b is not below the preemptor";
  EXPECT_EQ(curve.lowest_level(1), nobody_goes);
  EXPECT_EQ(curve.lowest_level(4), 2);
  EXPECT_EQ(curve.lowest_level(6), std::nullopt);
}

TEST(curves, of_any_split_add_up_to_the_curve_of_the_whole) {
  for_random_cases({}, draw_gang_of_several_templates, [](const cluster& in, const preemptor& who) {
    const auto view = in.view();
    const auto settings = open_settings();
    const problem given{view, who, settings};
    const candidate_rules rules{given};
    const auto nodes = all_nodes(view);
    const auto parts = *rc::gen::inRange<std::size_t>(1, 5);
    std::vector<std::vector<node_row>> split(parts);
    for (const auto n : nodes)
      split[*rc::gen::inRange<std::size_t>(0, parts)].push_back(n);

    std::vector<capacity_curve> sum(who.groups.size());
    for (const auto& part : split) {
      const auto curves = curves_of(given, rules, part);
      for (std::size_t g = 0; g < curves.size(); ++g)
        sum[g] = sum_of(sum[g], curves[g]);
    }

    RC_ASSERT(sum == curves_of(given, rules, nodes));
  });
}

TEST(curves, give_the_threshold_of_a_gang_of_one_template) {
  const cluster_traits without_budgets{.budgets = false};
  int compared = 0;
  for_random_cases(
    without_budgets, draw_gang_of_one_template, [&](const cluster& in, const preemptor& who) {
      const auto view = in.view();
      const auto settings = open_settings();
      const problem given{view, who, settings};
      if (given.asked.groups.empty())
        return;
      const candidate_rules rules{given};
      const auto least = least_threshold(given, curves_of(given, rules, all_nodes(view)));

      const auto made = decide(view, who, settings);

      RC_ASSERT(least.has_value() == (made.result != plan::outcome::infeasible));
      if (made.result == plan::outcome::preempts) {
        RC_ASSERT(made.scored.highest_victim_priority == *least);
        ++compared;
      }
    });
  EXPECT_GT(compared, 100);
}

} // namespace reprieve::tests
