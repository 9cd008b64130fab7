#include "preemption/evaluation/score_bounds.hpp"
#include "preemption/policies/workload_aware/workload_aware.hpp"
#include "tests/engine/worlds/plan_reading.hpp"
#include "tests/engine/worlds/random_cluster.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace reprieve::tests {

TEST(bounds, are_never_worse_than_what_comes_of_a_node) {
  int compared = 0;
  for_random_cases({}, draw_lone_pod, [&](const cluster& in, const preemptor& who) {
    const auto view = in.view();
    auto settings = open_settings();
    settings.group.minimised = *rc::gen::element(minimise::pods, minimise::work);
    const problem given{view, who, settings};
    if (given.asked.groups.empty())
      return;
    workload_aware rules{given};
    for (std::size_t b = 0; b < view.blocks().count(); ++b) {
      const auto& block = view.blocks().at(b);
      const auto of_block = bound_on_block(given, block);
      for (const auto& n : block.nodes) {
        if (!given.filter.suits_any_group(n)
            || covers(view.promised(n), given.asked.groups.front().request))
          continue;
        const auto made = rules.try_domain({view.node_name(n), {&n, 1}});
        if (!made.feasible)
          continue;
        const auto of_node = bound_on_node(given, n);
        RC_ASSERT(of_node.has_value());
        RC_ASSERT(of_block.has_value());
        RC_ASSERT(!better(made.scored, *of_node, settings.group.minimised));
        RC_ASSERT(!better(*of_node, *of_block, settings.group.minimised));
        ++compared;
      }
    }
  });
  EXPECT_GT(compared, 300);
}

TEST(bounds, find_the_best_node_that_a_look_at_each_finds) {
  for_random_cases({}, draw_lone_pod, [](const cluster& in, const preemptor& who) {
    const auto view = in.view();
    const auto settings = open_settings();
    const auto made = decide(view, who, settings);
    if (made.result != plan::outcome::preempts)
      return;
    const problem given{view, who, settings};
    workload_aware rules{given};
    const auto nodes = domain_set::single_nodes(given);
    for (const auto& where : nodes.all()) {
      const auto other = rules.try_domain(where);
      if (other.feasible)
        RC_ASSERT(!better(other.scored, made.scored, settings.group.minimised));
    }
  });
}

TEST(bounds, of_a_block_promise_nothing_when_none_of_its_nodes_takes_pods_any_more) {
  auto view = cluster().node("n1", gpu(8)).running("a", prio(1), gpu(8)).view();
  view.settle();
  node closed;
  closed.name = "n1";
  gpu(8)(closed);
  closed.schedulable = false;
  view.put_node(closed);
  view.settle_nodes(); // which leaves other bounds as they were

  const auto made = decide(view, lone("b", prio(9), gpu(4)), open_settings());

  EXPECT_EQ(made.result, plan::outcome::infeasible);
}

} // namespace reprieve::tests
