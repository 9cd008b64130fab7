#include "preemption/pipeline/scoring.hpp"
#include "tests/engine/worlds/exhaustive.hpp"
#include "tests/engine/worlds/plan_reading.hpp"
#include "tests/engine/worlds/random_cluster.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <tuple>

/// How often the victims are the best that there are by the score, against searches that go through
/// everything.
namespace reprieve::tests {

namespace {

/// So many in a thousand have to be the best.
constexpr int least_on_a_node = 995;
constexpr int least_of_gangs = 970;

struct tally {
  int cases = 0;
  int best = 0;
  std::int64_t most_pods_more = 0;
};

void expect_best(const tally& of, int least_in_a_thousand) {
  fmt::print("{} of {} are the best by the score\n", of.best, of.cases);
  EXPECT_GE(of.best * 1'000, of.cases * least_in_a_thousand);
  EXPECT_LE(of.most_pods_more, 1);
}

/// A pod on the only node, with what it holds of two resources.
struct held_pod {
  std::int64_t cpus = 0;
  std::int64_t gpus = 0;
  std::int64_t start = 0; ///< in seconds, as below
  std::int64_t saved = 0;
  std::int64_t work = 0; ///< that is lost
};

/// Of pods of one priority: how many go, when the most important of them started, and what is lost.
using price = std::tuple<std::int64_t, std::int64_t, std::int64_t>;

/// By the amounts that are freed so far; exact, as there are few of those.
class amounts_table {
public:
  amounts_table(std::int64_t cpus, std::int64_t gpus) : cpus_(cpus), gpus_(gpus) {}

  /// The fewest pods and the least work of those who started at that time or later.
  std::optional<std::pair<std::int64_t, std::int64_t>> least(const std::vector<held_pod>& pods,
                                                             std::int64_t earliest) const {
    constexpr std::pair none{std::int64_t{1} << 40, std::int64_t{0}};
    const auto width = static_cast<std::size_t>(gpus_ + 1);
    std::vector<std::pair<std::int64_t, std::int64_t>> best(
      static_cast<std::size_t>(cpus_ + 1) * width, none);
    best.front() = {0, 0};
    for (const auto& one : pods) {
      if (one.start < earliest)
        continue;
      for (auto cpus = cpus_; cpus >= 0; --cpus)
        for (auto gpus = gpus_; gpus >= 0; --gpus) {
          const auto from =
            best[static_cast<std::size_t>(cpus) * width + static_cast<std::size_t>(gpus)];
          if (from == none)
            continue;
          auto& to = best[static_cast<std::size_t>(std::min(cpus + one.cpus, cpus_)) * width
                          + static_cast<std::size_t>(std::min(gpus + one.gpus, gpus_))];
          to = std::min(to, {from.first + 1, from.second + one.work});
        }
    }
    return best.back() == none ? std::nullopt : std::optional{best.back()};
  }

  std::optional<price> best(const std::vector<held_pod>& pods) const {
    std::set<std::int64_t, std::greater<>> starts;
    for (const auto& one : pods)
      starts.insert(one.start);
    const auto fewest = least(pods, *starts.rbegin());
    if (!fewest)
      return std::nullopt;
    for (const auto start : starts)
      if (const auto some = least(pods, start); some && some->first == fewest->first)
        return price{some->first, start, some->second};
    return std::nullopt;
  }

private:
  std::int64_t cpus_;
  std::int64_t gpus_;
};

} // namespace

TEST(best_victims, on_a_node_of_many_pods_of_one_priority_are_found) {
  tally found;
  for (std::uint64_t seed = 0; seed < 1'000; ++seed) {
    std::mt19937_64 chance{seed};
    const auto between = [&](std::int64_t low, std::int64_t high) {
      return std::uniform_int_distribution<std::int64_t>{low, high}(chance);
    };
    std::vector<held_pod> pods;
    std::int64_t cpus = 0;
    std::int64_t gpus = 0;
    const auto count = between(10, 40);
    for (std::int64_t i = 0; i < count; ++i) {
      auto& one = pods.emplace_back();
      one.cpus = between(1, 8);
      one.gpus = between(0, 3);
      one.start = 60 * between(0, 50);
      one.saved = one.start + 60 * between(0, 9);
      one.work = one.gpus * (3'600 - one.saved);
      cpus += one.cpus;
      gpus += one.gpus;
    }
    cluster built;
    built.node("n1", cpu(cpus), gpu(gpus));
    for (std::size_t i = 0; i < pods.size(); ++i)
      built.running(fmt::format("w{}", i), prio(1), cpu(pods[i].cpus), gpu(pods[i].gpus),
                    started{pods[i].start}, [&](pod& p) { p.checkpointed = at(pods[i].saved); });
    const auto asked_cpus = between(1, std::max<std::int64_t>(cpus * 2 / 3, 1));
    const auto asked_gpus = between(0, gpus * 2 / 3);

    const auto made = decide(built.view(), lone("new", prio(10), cpu(asked_cpus), gpu(asked_gpus)),
                             open_settings());

    ASSERT_EQ(made.result, plan::outcome::preempts) << "seed " << seed;
    const auto best = amounts_table{asked_cpus, asked_gpus}.best(pods);
    ASSERT_TRUE(best) << "seed " << seed;
    const price is{made.scored.pods,
                   (made.scored.most_important.start - epoch) / std::chrono::seconds{1},
                   made.scored.work_lost};
    EXPECT_EQ(std::get<0>(is), std::get<0>(*best)) << "seed " << seed;
    ++found.cases;
    found.best += is == *best ? 1 : 0;
  }
  expect_best(found, least_on_a_node);
}

namespace {

using pods_and_work = std::pair<std::int64_t, std::int64_t>;

/// A gang of one template over some nodes, all of which are full.
struct gang_case {
  std::vector<std::vector<held_pod>> nodes;
  std::int64_t seats = 0;
  std::int64_t cpus = 0; ///< of each
  std::int64_t gpus = 0;

  /// The least of those who started at that time or later, by every way to share out the seats.
  std::optional<pods_and_work> least(std::int64_t earliest) const {
    std::vector<std::optional<pods_and_work>> ways(static_cast<std::size_t>(seats) + 1);
    ways[0] = {0, 0};
    for (const auto& pods : nodes)
      for (auto sum = ways.size(); sum-- > 1;)
        for (std::size_t here = 1; here <= sum; ++here) {
          const auto count = static_cast<std::int64_t>(here);
          const auto some = amounts_table{count * cpus, count * gpus}.least(pods, earliest);
          const auto& before = ways[sum - here];
          if (!some || !before)
            continue;
          const pods_and_work both{before->first + some->first, before->second + some->second};
          if (!ways[sum] || both < *ways[sum])
            ways[sum] = both;
        }
    return ways.back();
  }

  std::optional<price> best() const {
    std::set<std::int64_t, std::greater<>> starts;
    for (const auto& pods : nodes)
      for (const auto& one : pods)
        starts.insert(one.start);
    const auto fewest = least(*starts.rbegin());
    if (!fewest)
      return std::nullopt;
    for (const auto start : starts)
      if (const auto some = least(start); some && some->first == fewest->first)
        return price{some->first, start, some->second};
    return std::nullopt;
  }
};

} // namespace

TEST(best_victims, of_a_gang_over_four_nodes_with_many_pods_are_found) {
  tally found;
  for (std::uint64_t seed = 0; found.cases < 200; ++seed) {
    std::mt19937_64 chance{seed};
    const auto between = [&](std::int64_t low, std::int64_t high) {
      return std::uniform_int_distribution<std::int64_t>{low, high}(chance);
    };
    gang_case drawn{{}, between(2, 6), between(2, 6), between(0, 2)};
    cluster built;
    for (int n = 0; n < 4; ++n) {
      auto& pods = drawn.nodes.emplace_back();
      std::int64_t cpus = 0;
      std::int64_t gpus = 0;
      const auto name = fmt::format("n{}", n);
      const auto count = between(5, 10);
      for (std::int64_t i = 0; i < count; ++i) {
        auto& one = pods.emplace_back();
        one.cpus = between(1, 5);
        one.gpus = between(0, 2);
        one.start = one.saved = 60 * between(0, 20);
        one.work = one.gpus * (3'600 - one.saved);
        cpus += one.cpus;
        gpus += one.gpus;
        built.pods(fmt::format("w{}-{}", n, i), {name}, prio(1), cpu(one.cpus), gpu(one.gpus),
                   started{one.start});
      }
      built.node(name, cpu(cpus), gpu(gpus));
    }
    const auto best = drawn.best();
    if (!best)
      continue;

    const auto made = decide(
      built.view(),
      gang("new", prio(10),
           members(static_cast<std::int32_t>(drawn.seats), cpu(drawn.cpus), gpu(drawn.gpus))),
      open_settings());

    ASSERT_EQ(made.result, plan::outcome::preempts) << "seed " << seed;
    const price is{made.scored.pods,
                   (made.scored.most_important.start - epoch) / std::chrono::seconds{1},
                   made.scored.work_lost};
    ++found.cases;
    found.best += is == *best ? 1 : 0;
    found.most_pods_more = std::max(found.most_pods_more, std::get<0>(is) - std::get<0>(*best));
  }
  expect_best(found, least_of_gangs);
}

namespace {

void compare(tally& sum, const random_case& drawn, std::uint64_t seed) {
  const auto settings = open_settings();
  std::set<portion_id> below;
  for (const auto& p : drawn.in.all_pods())
    if (p.priority < drawn.who.priority)
      below.insert(portion_of(p));
  if (below.size() > exhaustive_search::most_candidates)
    return;
  const auto best = exhaustive_search{drawn.in, drawn.who, settings.now}.best();
  if (!best || best->pods == 0)
    return;
  const auto made = decide(drawn.in.view(), drawn.who, settings);
  ASSERT_EQ(made.result, plan::outcome::preempts) << "seed " << seed;
  ++sum.cases;
  sum.best += better(*best, made.scored, minimise::pods) ? 0 : 1;
  // A set that costs more may be the best as it leaves nobody to preempt.
  if (made.scored.cascades == best->cascades)
    sum.most_pods_more = std::max(sum.most_pods_more, made.scored.pods - best->pods);
}

} // namespace

TEST(best_victims, on_a_node_of_several_priorities_are_found) {
  tally found;
  for (std::uint64_t seed = 0; found.cases < 500; ++seed)
    compare(found,
            case_of_seed(seed,
                         {.budgets = false,
                          .immovable = false,
                          .groups = false,
                          .leaving = false,
                          .crowded = true,
                          .most_nodes = 1},
                         draw_lone_pod),
            seed);
  expect_best(found, least_on_a_node);
}

TEST(best_victims, of_a_gang_over_four_nodes_are_found) {
  tally found;
  for (std::uint64_t seed = 0; found.cases < 500; ++seed)
    compare(found,
            case_of_seed(seed,
                         {.budgets = false, .immovable = false, .leaving = false, .most_nodes = 4},
                         draw_gang_of_one_template),
            seed);
  expect_best(found, least_of_gangs);
}

} // namespace reprieve::tests
