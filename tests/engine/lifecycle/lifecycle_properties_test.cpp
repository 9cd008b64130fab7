#include "tests/engine/lifecycle/lifecycle_reference.hpp"
#include "tests/engine/lifecycle/random_lifecycle.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <set>
#include <utility>

/// What must hold of every plan of the lifecycle phase, and from one cycle to the next.
namespace reprieve::tests {

namespace {

void for_random_worlds(const lifecycle_traits& with, auto use) {
  EXPECT_TRUE(rc::check([&] {
    for (int i = 0; i < 10; ++i) {
      auto world = draw_lifecycle_world(with);
      use(world);
    }
  }));
}

template <class T>
void shuffle(std::vector<T>& list) {
  for (std::size_t i = list.size(); i > 1; --i)
    std::swap(list[i - 1], list[static_cast<std::size_t>(between(0, std::ssize(list) - 1)) % i]);
}

/// Only this deployment lacks replicas.
void leave_only(lifecycle_world& world, std::size_t deployment, std::int32_t lacking) {
  for (auto& one : world.given.deployments)
    one.lacking = 0;
  world.given.deployments[deployment].lacking = lacking;
}

/// The victims' next phase; `steps` of them.
void move_on(lifecycle_world& world, const std::string& uid, std::int64_t steps) {
  auto& p = world.pod_of(uid);
  for (; steps > 0; --steps)
    switch (p.phase) {
    case pod_phase::running:
      p.phase = pod_phase::surplus;
      break;
    case pod_phase::surplus:
      p.phase = pod_phase::terminating;
      p.stop_told = world.given.now;
      break;
    default:
      p.phase = pod_phase::force_deleting;
    }
}

std::int32_t named_surplus(const lifecycle_world& world, const placement& share) {
  return static_cast<std::int32_t>(std::ranges::count_if(world.pods, [&](const pod& p) {
    const auto where = std::ranges::find(world.nodes, p.node, &node::name);
    return p.phase == pod_phase::surplus && p.workload == share.deployment
           && where->resource_group == share.cluster;
  }));
}

} // namespace

TEST(lifecycle_properties, every_plan_is_sound) {
  for_random_worlds({}, [](lifecycle_world& world) { check(world, world.plan()); });
}

TEST(lifecycle_properties, no_other_node_has_a_better_worst_victim) {
  for_random_worlds({}, [](lifecycle_world& world) {
    for (auto& share : world.given.placements)
      share.committed = share.assigned - named_surplus(world, share);
    leave_only(world, 0, 1);
    const auto& who = world.given.deployments[0];

    const auto plan = world.plan();

    const auto best = best_worst_victim(world, who);
    RC_ASSERT(best.has_value() == !plan.matches.empty());
    if (!best)
      return;
    const auto& victims = plan.matches[0].victims;
    RC_ASSERT(best->has_value() == !victims.empty());
    if (*best)
      RC_ASSERT(rank_of(world, world.pod_of(victims.back().uid), who) == **best);
  });
}

TEST(lifecycle_properties, the_order_in_which_things_are_listed_does_not_matter) {
  for_random_worlds({}, [](lifecycle_world& world) {
    const auto plan = world.plan();
    shuffle(world.nodes);
    shuffle(world.pods);
    shuffle(world.given.deployments);
    shuffle(world.given.placements);

    RC_ASSERT(world.plan() == plan);
  });
}

TEST(lifecycle_properties, victims_that_move_on_together_are_chosen_again_without_memory) {
  for_random_worlds({.leaving = false}, [](lifecycle_world& world) {
    const auto first = world.plan();
    world.act_on(first);
    for (int cycle = 0; cycle < 4; ++cycle) {
      world.given.before = {};
      const auto next = world.plan();
      RC_ASSERT(matches_of(next) == matches_of(first));
      RC_ASSERT(victims_of(next) == victims_of(first));
      RC_ASSERT(next.scale_downs.empty());
      check(world, next);
      for (const auto& uid : victims_of(first))
        move_on(world, uid, 1);
      world.count_assigned();
    }
  });
}

TEST(lifecycle_properties, however_victims_move_on_nobody_new_is_disrupted) {
  for_random_worlds({}, [](lifecycle_world& world) {
    const auto first = world.plan();
    world.act_on(first);
    for (int cycle = 0; cycle < 4; ++cycle) {
      for (const auto& uid : victims_of(first))
        move_on(world, uid, between(0, 2));
      world.count_assigned();
      const auto next = world.plan();
      RC_ASSERT(matches_of(next) == matches_of(first));
      RC_ASSERT(victims_of(next) == victims_of(first));
      RC_ASSERT(next.scale_downs.empty());
      RC_ASSERT(next.memory.preempted == first.memory.preempted);
      check(world, next);
      world.act_on(next);
    }
  });
}

TEST(lifecycle_properties, who_lacks_more_takes_no_match_from_its_equals_or_those_above) {
  for_random_worlds({}, [](lifecycle_world& world) {
    const auto first = world.plan();
    world.act_on(first);
    for (const auto& uid : victims_of(first))
      move_on(world, uid, between(0, 2));
    world.count_assigned();
    auto& one =
      world.given
        .deployments[static_cast<std::size_t>(between(0, std::ssize(world.given.deployments) - 1))];
    one.lacking += static_cast<std::int32_t>(between(1, 3));

    const auto next = world.plan();

    check(world, next);
    const auto of_equals_and_above = [&](const lifecycle_plan& plan) {
      std::multiset<std::pair<std::string, std::set<std::string>>> found;
      for (const auto& match : plan.matches) {
        const auto& who = world.deployment(match.deployment);
        if (who.priority < one.priority || who.name == one.name)
          continue;
        std::set<std::string> victims;
        for (const auto& gone : match.victims)
          victims.insert(gone.uid);
        found.emplace(match.deployment + "@" + match.node, std::move(victims));
      }
      return found;
    };
    RC_ASSERT(of_equals_and_above(next) == of_equals_and_above(first));
  });
}

TEST(lifecycle_properties, a_victim_for_one_gpu_would_find_nobody_below_itself) {
  for_random_worlds({.most_gpus = 1, .immovable = false, .one_cluster = true},
                    [](lifecycle_world& world) {
                      for (auto& one : world.given.deployments)
                        one.pods.requests = {{"gpu", 1000}};
                      for (auto& p : world.pods)
                        p.requests = {{"gpu", 1000}};
                      leave_only(world, 0, 1);
                      const auto plan = world.plan();
                      if (plan.scale_downs.empty())
                        return;

                      for (std::size_t d = 0; d < world.given.deployments.size(); ++d)
                        if (world.given.deployments[d].name == plan.scale_downs[0].deployment)
                          leave_only(world, d, 1);

                      RC_ASSERT(world.plan().scale_downs.empty());
                    });
}

} // namespace reprieve::tests
