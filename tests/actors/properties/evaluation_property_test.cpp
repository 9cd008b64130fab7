#include "tests/actors/properties/cluster_records.hpp"
#include "tests/actors/properties/reference_cycle.hpp"
#include "tests/actors/properties/shuffled_replica.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// Actors that split a cluster into shards decide as the engine does on the unsplit one, for any
/// number of shards and any order of messages (docs/architecture.md#invariants).
namespace reprieve::tests {

namespace {

constexpr std::uint32_t shard_counts[] = {1, 2, 3, 8, 64};

/// In each part of a test; each is run once for every shard count.
int clusters() {
  if (std::getenv("REPRIEVE_EMULATED") != nullptr)
    return 20;
  return std::getenv("REPRIEVE_LONG") != nullptr ? 5'000 : 1'000;
}

/// Clusters, that some of them are of every kind.
constexpr int enough = 100;

/// What happened in all runs together.
struct tally {
  int placing = 0;    ///< units that got room that was free or will be
  int preempting = 0; ///< that got it by victims
  int later = 0;      ///< of these, that were not the first to preempt
  int scattered = 0;  ///< whole replicas as victims, with pods on several nodes
  int waiting = 0;
  int asking = 0;  ///< runs that asked shards
  int changed = 0; ///< of these, in which something changed before all had answered
  int refused = 0; ///< decisions that were not carried out
};

void count(tally& sum, const std::vector<expected_turn>& turns, std::size_t questions) {
  bool first = true;
  for (const auto& [who, made] : turns) {
    if (made.assignments.empty()) {
      ++sum.waiting;
    } else if (made.victims.empty()) {
      ++sum.placing;
    } else {
      ++sum.preempting;
      sum.later += std::exchange(first, false) ? 0 : 1;
      for (const auto& gone : made.victims)
        sum.scattered += std::ranges::any_of(
          gone.pods, [&](const victim_pod& one) { return one.node != gone.pods.front().node; });
    }
  }
  sum.asking += questions > 0 ? 1 : 0;
}

/// What the actors decided, to be compared turn by turn; empty where all is as expected.
class comparison_of_decisions {
public:
  /// Why somebody waits is said when somebody asks: it is compared where nothing happens meanwhile.
  comparison_of_decisions(const std::map<std::string, decision>& launched, bool at_rest)
      : at_rest_(at_rest) {
    for (const auto& [id, one] : launched)
      for (const auto& [placed] : one.assignments)
        by_pod_[placed.uid] = &one;
  }

  std::string with(const std::vector<expected_turn>& turns,
                   const std::map<std::string, std::string>& waiting) {
    std::map<std::string, std::string> reasons;
    for (const auto& turn : turns) {
      if (turn.made.assignments.empty())
        reasons[turn.who.workload] = at_rest_ ? turn.made.why.summary : std::string{};
      else if (auto difference = of_turn(turn); !difference.empty())
        return difference;
    }
    if (!by_pod_.empty())
      return fmt::format("pod {} got a place that nobody gave it", by_pod_.begin()->first);
    return reason_that_differs(reasons, waiting);
  }

private:
  /// The decision that places all these pods as the plan does, or why there is none.
  std::string of_turn(const expected_turn& turn) {
    const auto& [who, plan] = turn;
    const auto text = fmt::format("{} ('{}')", who.workload, plan.why.summary);
    const decision* by = nullptr;
    for (const auto& [wanted] : plan.assignments) {
      const auto found = by_pod_.find(wanted.uid);
      if (found == by_pod_.end())
        return fmt::format("{} has no place for pod {}", text, wanted.uid);
      if (by != nullptr && found->second != by)
        return fmt::format("{} is placed by more than one decision", text);
      by = found->second;
      by_pod_.erase(found);
      auto placed = wanted;
      placed.placed_by = by->id;
      const auto given = std::ranges::find(by->assignments, wanted.uid,
                                           [](const assignment& one) { return one.placed.uid; });
      if (given->placed != placed)
        return fmt::format("{} has pod {} on {}, not on {}, or as another pod", text, wanted.uid,
                           given->placed.node, wanted.node);
    }
    if (plan.result == plan::outcome::placed)
      return by->victims.empty() && by->policy == "placement" ? "" : text + " has victims";
    return of_plan(turn, *by, text);
  }

  static std::string of_plan(const expected_turn& turn, const decision& by,
                             const std::string& text) {
    const auto& [who, plan] = turn;
    std::string fields;
    const auto compare = [&](const char* name, const auto& mine, const auto& other) {
      if (!(mine == other))
        fields += fmt::format(" {}", name);
    };
    auto assignments = plan.assignments;
    for (auto& one : assignments)
      one.placed.placed_by = by.id;
    compare("assignments", by.assignments, assignments);
    compare("victims", by.victims, plan.victims);
    compare("score", by.scored, plan.scored);
    compare("summary", by.why.summary, plan.why.summary);
    compare("reasoning", by.why, plan.why);
    compare("policy", by.policy, plan.policy.empty() ? "placement" : plan.policy);
    compare("priority", by.priority, who.priority);
    compare("workloads", by.workloads, std::vector{who.workload});
    return fields.empty() ? "" : fmt::format("{} differs in{}: '{}'", text, fields, by.why.summary);
  }

  static std::string reason_that_differs(const std::map<std::string, std::string>& wanted,
                                         const std::map<std::string, std::string>& told) {
    for (const auto& [workload, reason] : wanted)
      if (const auto found = told.find(workload);
          found == told.end() || (!reason.empty() && found->second != reason))
        return fmt::format("{} waits because '{}', not because '{}'", workload,
                           found == told.end() ? "" : found->second, reason);
    return {};
  }

  bool at_rest_;
  std::map<std::string, const decision*> by_pod_; ///< that no turn has accounted for, by uid
};

/// What was decided stands in the store. Whoever knew all there is to know is not refused: a
/// coordinator's own decisions do not stand in each other's way
/// (docs/protocol.md#several-decisions-at-once).
std::string what_was_not_stored(shuffled_replica& actors, bool behind) {
  const auto stored = actors.stored();
  const auto& launched = actors.launched();
  for (const auto& [id, made] : launched) {
    const auto found = stored.find(id);
    if (found == stored.end()) {
      const auto vote = actors.refused().find(id);
      if (vote == actors.refused().end())
        return fmt::format("{} is neither in the store nor refused", id);
      if (!behind)
        return fmt::format("{} is refused: {}", id, std::string(vote->second.message()));
      continue;
    }
    const auto& kept = found->second;
    if (kept.assignments != made.assignments || kept.victims != made.victims || kept.why != made.why
        || kept.scored != made.scored || kept.policy != made.policy
        || kept.priority != made.priority || kept.workloads != made.workloads)
      return fmt::format("{} is not as it was decided: '{}'", id, kept.why.summary);
    if (kept.phase == decision_phase::aborted)
      return fmt::format("{} was given up: {}", id, kept.abort_reason);
  }
  return {};
}

/// How a cluster's first cycle is compared.
struct comparing {
  record_traits drawn{};
  bool decisions_at_once = false;
  bool with_change = false;
};

/// What the engine would do, at any time that the actors' cycle may have begun at.
class expectation {
public:
  explicit expectation(const cluster_records& of, std::size_t most_domains_told)
      : cycle_(of), most_domains_told_(most_domains_told) {}

  const std::vector<expected_turn>& at(time_point now) {
    const auto [found, fresh] = by_time_.try_emplace(now);
    if (fresh)
      found->second = cycle_.run(now, most_domains_told_);
    return found->second;
  }

private:
  reference_cycle cycle_;
  std::size_t most_domains_told_;
  std::map<time_point, std::vector<expected_turn>> by_time_;
};

/// Most of the time shards are asked, but a plan may also tell of every domain, or of a few.
std::size_t most_domains_told(std::uint64_t seed) {
  return seed % 8 == 0 ? 64 : seed % 8 == 1 ? 3 : 0;
}

/// Compares one cluster's first cycle over all shard counts with the engine; false where it
/// differs.
bool compare_over_shards(std::uint64_t seed, const comparing& how, tally& sum) {
  const auto records = draw_records(seed, how.drawn);
  auto changed = records;
  std::optional<admitted> change;
  if (how.with_change)
    changed.change(change.emplace(draw_change(seed, records)));
  const auto most = most_domains_told(seed);
  expectation before{records, most};
  expectation after{changed, most};
  for (const auto shards : shard_counts) {
    shuffled_replica actors{records,
                            {.shards = shards,
                             .seed = seed * 100 + shards,
                             .most_domains_told = most,
                             .decisions_at_once = how.decisions_at_once,
                             .change = change}};
    actors.run_first_cycle();
    const bool knew = actors.knew_of_change();
    const auto& turns = (knew ? after : before).at(actors.cycle_began());
    auto difference =
      comparison_of_decisions{actors.launched(), !how.decisions_at_once && !how.with_change}.with(
        turns, actors.waiting());
    if (difference.empty())
      difference = what_was_not_stored(actors, how.with_change && !knew);
    EXPECT_EQ(difference, "") << "seed " << seed << ", " << shards << " shards";
    if (!difference.empty())
      return false;
    count(sum, turns, actors.questions());
    sum.refused += static_cast<int>(actors.refused().size());
    sum.changed += actors.was_told_meanwhile() ? 1 : 0;
  }
  return true;
}

tally compare_clusters(std::uint64_t first_seed, int clusters, const comparing& how) {
  tally sum;
  for (int i = 0; i < clusters; ++i)
    if (!compare_over_shards(first_seed + static_cast<std::uint64_t>(i), how, sum))
      break;
  return sum;
}

/// Some of the clusters, so that they go side by side.
class actors_evaluation : public testing::TestWithParam<std::uint64_t> {};

} // namespace

TEST_P(actors_evaluation, is_the_engines_plan_for_any_shards_and_any_order_of_messages) {
  const auto count = clusters();
  const auto sum = compare_clusters(1'000'000 * GetParam(), count, {});
  if (count < enough)
    return;
  EXPECT_GT(sum.preempting, 4 * count);
  EXPECT_GT(sum.later, 2 * count);
  EXPECT_GT(sum.scattered, count / 2);
  EXPECT_GT(sum.placing, 2 * count);
  EXPECT_GT(sum.waiting, 4 * count);
  EXPECT_GT(sum.asking, 2 * count);
}

INSTANTIATE_TEST_SUITE_P(part, actors_evaluation, testing::Range<std::uint64_t>(1, 6));

TEST(actors_evaluation_meanwhile, is_the_engines_plan_while_earlier_decisions_are_carried_out) {
  const auto count = clusters() / 2;
  const auto sum =
    compare_clusters(10'000'000, count, {.drawn = {.steady = true}, .decisions_at_once = true});
  if (count < enough)
    return;
  EXPECT_GT(sum.preempting, count);
  EXPECT_GT(sum.later, count / 4);
  EXPECT_GT(sum.asking, count);
}

TEST(actors_evaluation_meanwhile,
     counts_a_change_in_that_the_coordinator_has_heard_of_while_it_asked) {
  const auto count = clusters() / 2;
  const auto sum =
    compare_clusters(20'000'000, count, {.drawn = {.one_waits = true}, .with_change = true});
  if (count < enough)
    return;
  EXPECT_GT(sum.preempting, count);
  EXPECT_GT(sum.changed, count / 2);
  EXPECT_LT(sum.refused, count / 4);
}

} // namespace reprieve::tests
