#include "tests/engine/worlds/plain_cluster.hpp"
#include "tests/engine/worlds/random_cluster.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <optional>
#include <utility>

/// What must hold of every plan for a pod that is bound to a node (docs/policies.md#required-node),
/// judged from the objects that went in.
namespace reprieve::tests {

namespace {

using outcome = plan::outcome;

/// A cluster with owners and opt-outs, and a pod bound to one of its nodes.
struct bound_case {
  std::vector<node> nodes;
  std::vector<pod> pods;
  preemptor who;

  const std::string& node_name() const {
    return who.groups.front().required_node;
  }
  const resources& request() const {
    return who.groups.front().pods.front().requests;
  }
};

bound_case draw_case(const cluster& in, preemptor who) {
  const auto one_of = [](const auto& list) -> const auto& {
    return list[*rc::gen::inRange<std::size_t>(0, list.size())];
  };
  bound_case drawn{in.all_nodes(), in.all_pods(), std::move(who)};
  for (auto& p : drawn.pods) {
    p.opted_out = *rc::gen::inRange(0, 6) == 0;
    if (*rc::gen::inRange(0, 6) == 0)
      p.owner = one_of(drawn.pods).uid;
  }
  drawn.who.groups.front().required_node = one_of(drawn.nodes).name;
  return drawn;
}

/// By the rules as they are written down, so not by the table of the engine.
int class_of(const plain_portion& one, const std::vector<pod>& pods) {
  const auto referred_to = [&](const pod* p) {
    return std::ranges::any_of(
      pods, [&](const pod& other) { return other.owner == p->uid && other.uid != p->uid; });
  };
  if (std::ranges::any_of(one.pods, [](const pod* p) { return p->opted_out; }))
    return 2;
  return std::ranges::any_of(one.pods, referred_to) ? 1 : 0;
}

/// Whether the node would do if it were empty.
bool node_will_do(const bound_case& given) {
  return fits(plain_cluster{given.nodes, {}}.room_without({}).at(given.node_name()),
              given.request());
}

/// What is there on the node, with all candidates up to a class gone.
resources room_up_to(const bound_case& given, const plain_cluster& plain, int last_class) {
  std::set<portion_id> gone;
  for (const auto& one : plain.portions())
    if (one.movable && one.priority < given.who.priority && class_of(one, given.pods) <= last_class)
      gone.insert(one.id);
  return plain.room_without(gone).at(given.node_name());
}

bool goes_without(const plan& made, const bound_case& given, const plain_cluster& plain,
                  const portion_id& spared) {
  auto gone = portions_that_go(made);
  gone.erase(spared);
  return fits(plain.room_without(gone).at(given.node_name()), given.request());
}

using check_case = std::function<void(const bound_case&, const plain_cluster&, const plan&)>;

void for_bound_pods(const std::vector<victim_strategy>& strategies, const check_case& check) {
  int preempted = 0;
  for_random_cases({}, draw_lone_pod, [&](const cluster& in, const preemptor& who) {
    const auto given = draw_case(in, who);
    auto settings = open_settings();
    settings.group.required_node.strategies = strategies;
    settings.group.required_node.max_victims = 100;
    settings.group.required_node.deviation_percent = 50;
    const auto made = decide(view_of(given.nodes, given.pods, {}), given.who, settings);
    preempted += made.result == outcome::preempts ? 1 : 0;
    check(given, plain_cluster{given.nodes, given.pods}, made);
  });
  EXPECT_GT(preempted, 50);
}

constexpr auto single = victim_strategy::single;
constexpr auto multiple = victim_strategy::multiple;

} // namespace

TEST(required_node_properties, victims_are_whole_movable_and_below_and_make_the_pod_fit) {
  for_bound_pods({single, multiple}, [](const auto& given, const auto& plain, const plan& made) {
    if (made.result != outcome::preempts)
      return;
    const auto gone = portions_that_go(made);
    RC_ASSERT(made.assignments.size() == 1u);
    RC_ASSERT(made.assignments[0].placed.node == given.node_name());
    RC_ASSERT(fits(plain.room_without(gone).at(given.node_name()), given.request()));
    for (const auto& one : made.victims) {
      const auto& was = *std::ranges::find(plain.portions(), one.portion, &plain_portion::id);
      RC_ASSERT(was.movable);
      RC_ASSERT(was.priority < given.who.priority);
      RC_ASSERT(one.pods.size() == was.pods.size());
      RC_ASSERT(
        std::ranges::any_of(was.pods, [&](const pod* p) { return p->node == given.node_name(); }));
    }
  });
}

TEST(required_node_properties, nobody_goes_whom_the_others_make_up_for) {
  for_bound_pods({multiple}, [](const auto& given, const auto& plain, const plan& made) {
    for (const auto& one : made.victims)
      RC_ASSERT(!goes_without(made, given, plain, one.portion));
  });
}

TEST(required_node_properties, multiple_fails_only_where_all_together_are_not_enough) {
  for_bound_pods({single, multiple}, [](const auto& given, const auto& plain, const plan& made) {
    const bool possible = node_will_do(given) && fits(room_up_to(given, plain, 2), given.request());
    RC_ASSERT((made.result != outcome::infeasible) == possible);
  });
}

TEST(required_node_properties, multiple_touches_a_class_only_where_the_ones_before_are_not_enough) {
  for_bound_pods({multiple}, [](const auto& given, const auto& plain, const plan& made) {
    for (const auto& one : made.victims) {
      const auto& was = *std::ranges::find(plain.portions(), one.portion, &plain_portion::id);
      const auto its_class = class_of(was, given.pods);
      if (its_class > 0)
        RC_ASSERT(!fits(room_up_to(given, plain, its_class - 1), given.request()));
    }
  });
}

TEST(required_node_properties, single_takes_the_closest_of_the_first_class_that_has_one) {
  for_bound_pods({single}, [](const auto& given, const auto& plain, const plan& made) {
    if (made.result == outcome::placed || made.result == outcome::waits)
      return;
    // Requests are 1 to 8 units, so that a multiple of all these makes whole numbers of fractions.
    const auto deviation = [&](const plain_portion& one) {
      constexpr std::int64_t scale = 840;
      std::int64_t farthest = 0;
      for (const auto& [name, asked] : given.request()) {
        std::int64_t held = 0;
        for (const auto* p : one.pods)
          if (p->node == given.node_name())
            held += amount_of(p->requests, name);
        if (asked > 0)
          farthest = std::max(farthest, std::abs(held - asked) * scale / asked);
      }
      return std::pair{class_of(one, given.pods), farthest};
    };
    std::optional<std::pair<int, std::int64_t>> best;
    for (const auto& one : plain.portions()) {
      const bool here =
        std::ranges::any_of(one.pods, [&](const pod* p) { return p->node == given.node_name(); });
      if (!here || !one.movable || one.priority >= given.who.priority || deviation(one).second > 420
          || !fits(plain.room_without({one.id}).at(given.node_name()), given.request()))
        continue;
      best = best ? std::min(*best, deviation(one)) : deviation(one);
    }
    if (!node_will_do(given))
      best.reset();
    RC_ASSERT((made.result == outcome::preempts) == best.has_value());
    if (best) {
      RC_ASSERT(made.victims.size() == 1u);
      const auto& was =
        *std::ranges::find(plain.portions(), made.victims[0].portion, &plain_portion::id);
      RC_ASSERT(deviation(was) == *best);
    }
  });
}

TEST(required_node_properties, the_order_in_which_things_became_known_does_not_matter) {
  for_random_cases({}, draw_lone_pod, [](const cluster& in, const preemptor& who) {
    const auto given = draw_case(in, who);
    auto nodes = given.nodes;
    auto pods = given.pods;
    std::ranges::reverse(nodes);
    std::ranges::reverse(pods);

    RC_ASSERT(same(decide(view_of(given.nodes, given.pods, {}), given.who, open_settings()),
                   decide(view_of(nodes, pods, {}), given.who, open_settings())));
  });
}

} // namespace reprieve::tests
