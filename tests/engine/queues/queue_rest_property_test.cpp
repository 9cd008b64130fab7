#include "tests/engine/queues/played_queues.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

/// With constant input evictions come to an end, whatever the queues and however preempted work
/// comes back (docs/policies.md#queues).
namespace reprieve::tests {

namespace {

using std::chrono::minutes;

/// In each part.
int trees() {
  if (std::getenv("REPRIEVE_EMULATED") != nullptr)
    return 20;
  return std::getenv("REPRIEVE_LONG") != nullptr ? 10'000 : 2'500;
}

/// How often something came about, so that a test that has come to test nothing shows.
struct tally {
  int evictions = 0;
  int by_queues = 0;
  int rings = 0; ///< changes after which somebody went twice for the same one
};

/// What should not be in what happened from that eviction on; empty where nothing is.
std::string look_at(const played_queues& on, std::size_t first, time_point quiet_from, tally& sum) {
  std::map<std::pair<std::string, std::string>, int> times; // by who goes and for whom
  bool ring = false;
  for (auto i = first; i < on.evictions().size(); ++i) {
    const auto& one = on.evictions()[i];
    ring = ring || ++times[{one.portion, one.in_favour_of}] > 1;
    ++sum.evictions;
    sum.by_queues += one.policy == "queues" ? 1 : 0;
    if (one.at >= quiet_from)
      return one.portion + " goes long after the last change";
  }
  sum.rings += ring ? 1 : 0;
  if (on.anybody_is_nominated())
    return "somebody holds room and does not start";
  return {};
}

class queues_at_rest : public testing::TestWithParam<std::uint64_t> {};

} // namespace

TEST_P(queues_at_rest, come_to_an_end_with_their_evictions) {
  tally sum;
  const auto first = std::getenv("REPRIEVE_SEED") != nullptr
                       ? std::strtoull(std::getenv("REPRIEVE_SEED"), nullptr, 10)
                       : 1'000'000 * GetParam();
  for (int i = 0; i < trees(); ++i) {
    const auto seed = first + static_cast<std::uint64_t>(i);
    played_queues on{seed};
    for (int changes = 0; changes < 3; ++changes) {
      const auto before = on.evictions().size();
      const auto begun = on.now();
      on.play(minutes{60});
      ASSERT_EQ(look_at(on, before, begun + minutes{30}, sum), "")
        << "seed " << seed << ", change " << changes << "\n"
        << on.story();
      ASSERT_FALSE(HasFailure()) << "seed " << seed << "\n" << on.story();
      on.change();
    }
  }
  EXPECT_GT(sum.evictions, trees() / 4);
  EXPECT_GT(sum.by_queues, trees() / 20);
  // Whoever was stopped for one pod of a gang may be again for the next; and work that is larger
  // than its queue's share is demand while it runs and none while it waits, so that shares may
  // change once more.
  EXPECT_LE(sum.rings, trees() / 1000);
}

INSTANTIATE_TEST_SUITE_P(part, queues_at_rest, testing::Range<std::uint64_t>(1, 5));

} // namespace reprieve::tests
