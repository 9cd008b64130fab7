#include "preemption/engine.hpp"
#include "preemption/snapshot/snapshot.hpp"
#include "tests/engine/worlds/plan_reading.hpp"
#include "tests/engine/worlds/random_cluster.hpp"
#include "tests/engine/worlds/sharded_cluster.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <set>

/// Several preemptors in one round: shards answer for all of them before the first is decided.
namespace reprieve::tests {

namespace {

constexpr std::size_t waiting_in_a_round = 5;

struct round_case {
  cluster in;
  std::vector<preemptor> waiting;
  plan_settings settings;
};

round_case draw_round(std::uint64_t seed, const std::function<preemptor()>& draw) {
  const cluster_traits crowded{.varied = true, .crowded = true, .most_nodes = 8, .most_pods = 120};
  return rc::gen::exec([&] {
           round_case drawn{draw_cluster(crowded), {}, draw_settings(depth::summary)};
           for (std::size_t i = 0; i < waiting_in_a_round; ++i)
             drawn.waiting.push_back(named(draw(), fmt::format("new{}", i)));
           return drawn;
         })(rc::Random{seed}, rc::kNominalSize)
    .value();
}

/// The coordinator's view while decisions and other changes come to it, and which nodes they touch.
class changing_cluster {
public:
  changing_cluster(const cluster& in, std::mt19937_64& random)
      : random_(random), nodes_(in.all_nodes()), pods_(in.all_pods()), view_(in.view()) {}

  const cluster_view& view() const {
    return view_;
  }
  std::vector<node_row> touched() const {
    std::vector<node_row> rows;
    for (const auto& name : touched_)
      rows.push_back(view_.find_node(name));
    return rows;
  }

  void carry_out(const plan& made, std::string_view id) {
    reprieve::carry_out(made, id, pods_, view_);
    for (const auto& one : made.assignments)
      touched_.insert(one.placed.node);
    for (const auto& gone : made.victims)
      for (const auto& one : gone.pods) {
        touched_.insert(one.node);
        std::ranges::find(pods_, one.uid, &pod::uid)->evicted_by = id;
      }
  }

  void change_something() {
    switch (random_() % 8) {
    case 0:
      return change_pod([](pod& p) { p.phase = pod_phase::terminating; });
    case 1:
      return change_pod([](pod& p) { p.checkpointed = at(3500); });
    case 2:
      return change_pod([](pod& p) { p.priority -= 2; });
    case 3:
      return change_node();
    case 4:
      return change_budget();
    case 5:
      return hold_one_more();
    default:
      return;
    }
  }

private:
  template <class T>
  T& any_of(std::vector<T>& some) {
    return some[random_() % some.size()];
  }

  /// Of its portion every node is touched.
  void change_pod(const std::function<void(pod&)>& change) {
    if (pods_.empty())
      return;
    auto& one = any_of(pods_);
    for (const auto& p : pods_)
      if (portion_of(p) == portion_of(one))
        touched_.insert(p.node);
    change(one);
    view_.put_pod(one);
    view_.settle();
  }

  void change_node() {
    auto& one = any_of(nodes_);
    one.schedulable = !one.schedulable;
    touched_.insert(one.name);
    view_.put_node(one);
    view_.settle();
  }

  /// Touches nothing.
  void change_budget() {
    disruption_budget other;
    other.name = random_() % 2 == 0 ? "x" : "y";
    other.match_labels = {{"app", other.name}};
    other.min_available = static_cast<std::int32_t>(random_() % 9);
    view_.put_budget(other);
    view_.settle();
  }

  /// A pod more for a portion that runs; only the node that it comes to is touched.
  void hold_one_more() {
    if (pods_.empty())
      return;
    auto held = any_of(pods_);
    if (held.disruption != disruption_mode::pod_group || !held.evicted_by.empty())
      return;
    held.uid += fmt::format("-more{}", ++held_);
    held.index += 100 + held_;
    held.node = any_of(nodes_).name;
    held.phase = pod_phase::nominated;
    held.started = no_time;
    touched_.insert(held.node);
    view_.put_pod(held);
    view_.settle();
  }

  std::mt19937_64& random_;
  std::vector<node> nodes_;
  std::vector<pod> pods_;
  cluster_view view_;
  std::set<std::string> touched_;
  std::int32_t held_ = 0;
};

/// Returns how many plans preempted, after the first of their rounds.
int compare_rounds(std::uint64_t first_seed, std::uint64_t rounds,
                   const std::function<preemptor()>& draw) {
  constexpr std::size_t shard_counts[] = {1, 2, 3, 8, 64};
  int preempting = 0;
  for (auto seed = first_seed; seed < first_seed + rounds; ++seed) {
    const auto [in, waiting, settings] = draw_round(seed, draw);
    std::mt19937_64 random{seed};
    changing_cluster now{in, random};
    const sharded_cluster split{in, now.view(), shard_counts[seed % 5], random};
    std::vector<std::vector<shard_evaluation>> answers;
    for (const auto& who : waiting)
      answers.push_back(split.evaluated(request_for(who, settings, 1 + random() % 5), random));
    for (std::size_t i = 0; i < waiting.size(); ++i) {
      const auto whole = decide(now.view(), waiting[i], settings);
      live_hints seen{now.view(), answers[i], now.touched()};
      const auto made = decide(now.view(), waiting[i], settings, seen);
      const auto difference = what_differs(made, whole);
      EXPECT_EQ(difference, "") << "seed " << seed << ", preemptor " << i;
      if (!difference.empty())
        return preempting;
      preempting += i > 0 && whole.result == plan::outcome::preempts ? 1 : 0;
      now.carry_out(whole, fmt::format("d{}", i));
      now.change_something();
    }
  }
  return preempting;
}

/// Likewise where all are of one kind, and the answers to the first are kept for the others.
int compare_rounds_of_one_kind(std::uint64_t first_seed, std::uint64_t rounds,
                               const std::function<preemptor()>& draw) {
  int preempting = 0;
  for (auto seed = first_seed; seed < first_seed + rounds; ++seed) {
    auto [in, waiting, settings] = draw_round(seed, draw);
    std::mt19937_64 random{seed};
    changing_cluster now{in, random};
    const sharded_cluster split{in, now.view(), 1 + seed % 4, random};
    const auto asked = request_for(waiting.front(), settings, 1 + random() % 5);
    live_hints seen{now.view(), split.evaluated(asked, random)};
    for (std::size_t i = 0; i < waiting.size(); ++i) {
      const auto who = named(waiting.front(), fmt::format("new{}", i));
      const auto whole = decide(now.view(), who, settings);
      const auto difference = what_differs(decide(now.view(), who, settings, seen), whole);
      EXPECT_EQ(difference, "") << "seed " << seed << ", preemptor " << i;
      if (!difference.empty())
        return preempting;
      preempting += i > 0 && whole.result == plan::outcome::preempts ? 1 : 0;
      now.carry_out(whole, fmt::format("d{}", i));
      now.change_something();
      if (!who.gang)
        settings.now += std::chrono::seconds{random() % 3000};
    }
  }
  return preempting;
}

} // namespace

TEST(evaluation_round, of_one_kind_of_lone_pods_is_the_same_with_the_answers_to_the_first) {
  EXPECT_GT(compare_rounds_of_one_kind(4'000'000, 2'000, draw_lone_pod), 500);
}

TEST(evaluation_round, of_one_kind_of_gangs_is_the_same_with_the_answers_to_the_first) {
  EXPECT_GT(compare_rounds_of_one_kind(5'000'000, 1'500, draw_gang_within_racks), 100);
}

TEST(evaluation_round, of_lone_pods_is_the_same_with_answers_from_before_it) {
  EXPECT_GT(compare_rounds(1'000'000, 3'000, draw_lone_pod), 1'500);
}

TEST(evaluation_round, of_gangs_is_the_same_with_answers_from_before_it) {
  EXPECT_GT(compare_rounds(2'000'000, 2'000, draw_gang_within_racks), 500);
}

TEST(evaluation_round, of_anyone_is_the_same_with_answers_from_before_it) {
  EXPECT_GT(compare_rounds(3'000'000, 1'000, draw_anyone), 400);
}

} // namespace reprieve::tests
