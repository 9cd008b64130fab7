#include "tests/actors/properties/cycle_comparison.hpp"
#include "tests/actors/properties/drawn_site.hpp"
#include "tests/actors/properties/same_state.hpp"
#include "tests/actors/properties/watched_replica.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>

/// A live replica decides what `decide --all` says on its snapshot, cycle by cycle, for any number
/// of shards and any order of messages.
namespace reprieve::tests {

namespace {

constexpr std::uint32_t shard_counts[] = {1, 2, 8, 64};

/// In each part; each is run once for every shard count.
int clusters() {
  if (const auto* given = std::getenv("REPRIEVE_CLUSTERS"))
    return std::atoi(given);
  if (std::getenv("REPRIEVE_EMULATED") != nullptr)
    return 2;
  return std::getenv("REPRIEVE_LONG") != nullptr ? 1'250 : 16;
}

/// One cluster with so many shards; empty where each cycle was as expected.
std::string compare_cycles(std::uint64_t seed, std::uint32_t shards, cycle_tally& sum) {
  drawn_site site{seed};
  std::string difference;
  int looks = 0;
  const auto watch = [&](coordinator_pointer self,
                         const std::shared_ptr<const cluster_snapshot>& whole) {
    if (!difference.empty())
      return watched_replica::after_cycle{};
    // The text says the same; it takes its time to be written and read.
    auto read = ++looks % 8 == 0 ? written_and_read(*whole) : taken_from(*whole);
    const auto& group = self->state.settings.resource_group;
    const auto now = self->state.settings.clock.now(self);
    const auto at = fmt::format("seed {}, {} shards, group {}, {} ms", seed, shards, group,
                                std::chrono::duration_cast<std::chrono::milliseconds>(
                                  now.time_since_epoch() % std::chrono::hours{24})
                                  .count());
    if (!read.ok()) {
      difference = fmt::format("{}: {}", at, read.status().ToString());
      return watched_replica::after_cycle{};
    }
    auto expected = std::make_shared<cycle_comparison>(*std::move(read), group, now, sum);
    return watched_replica::after_cycle{
      [&difference, &sum, at, expected](coordinator_pointer then, const cycle_seen& live) {
        if (!live.undisturbed) {
          ++sum.disturbed;
          return;
        }
        if (auto found = expected->with(then, live); !found.empty())
          difference = fmt::format("{}: {}", at, found);
      }};
  };
  watched_replica live{shards, seed * 100 + shards, watch};
  live.make({site.catalog(), {}, {}, std::chrono::milliseconds{50}});
  live.make({site.contents(), {}, {}, std::chrono::milliseconds{50}});
  for (int i = 0; i < 12 && difference.empty(); ++i)
    live.make(site.next());
  if (difference.empty() && !live.trouble().empty())
    difference = fmt::format("seed {}, {} shards: {}", seed, shards, live.trouble());
  return difference;
}

/// Some of the clusters, so that they go side by side.
class live_cycles : public testing::TestWithParam<std::uint64_t> {};

} // namespace

TEST_P(live_cycles, decide_what_the_engine_says_on_the_snapshot) {
  cycle_tally sum;
  const auto first = std::getenv("REPRIEVE_SEED") != nullptr
                       ? std::strtoull(std::getenv("REPRIEVE_SEED"), nullptr, 10)
                       : 1'000'000 * GetParam();
  for (int i = 0; i < clusters(); ++i)
    for (const auto shards : shard_counts)
      EXPECT_EQ(compare_cycles(first + static_cast<std::uint64_t>(i), shards, sum), "");
  constexpr int enough = 16; // of clusters, that some are of every kind
  if (clusters() < enough)
    return;
  const auto runs = clusters() * static_cast<int>(std::size(shard_counts));
  EXPECT_GT(sum.cycles, 20 * runs);
  EXPECT_GT(sum.at_rest, 10 * runs);
  EXPECT_GT(sum.placed, 4 * runs);
  EXPECT_GT(sum.preempting, runs / 2);
  EXPECT_GT(sum.taken_back, runs / 3);
  if (runs >= 1000) { // few are
    EXPECT_GT(sum.by_quota, 0);
    EXPECT_GT(sum.given_up, 0);
    EXPECT_GT(sum.scaled_down, 0);
  }
  EXPECT_GT(sum.groundless, 0);
  EXPECT_GT(sum.waiting, 20 * runs);
  EXPECT_GT(sum.reserved, 0);
  EXPECT_GT(sum.counted, runs / 4);
  EXPECT_GT(sum.replicas_wait, runs);
  EXPECT_LT(sum.disturbed, sum.cycles / 10);
}

INSTANTIATE_TEST_SUITE_P(part, live_cycles, testing::Range<std::uint64_t>(1, 5));

} // namespace reprieve::tests
