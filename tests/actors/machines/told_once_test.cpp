#include "tests/actors/replica/replica_test.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>

// Events tell what happens now, also after a replica has begun anew.

namespace reprieve {

namespace {

using std::chrono::seconds;
using testing::Contains;
using testing::Not;

class told_once : public replica_test {
protected:
  /// One pod runs where another of higher priority is to come; it takes long to stop.
  std::unique_ptr<replica_world> with_a_victim() {
    auto replica = std::make_unique<replica_world>(store_, journal());
    EXPECT_TRUE(replica->start().ok());
    EXPECT_TRUE(replica->apply({machine("n1", 1), played(work("low"), "stop-takes", "25s")}).ok());
    EXPECT_TRUE(comes_to(*replica, "low", pod_phase::running, 1, seconds{5}));
    return replica;
  }
};

TEST_F(told_once, a_victim_that_was_told_before_a_restart_is_not_preempted_again) {
  {
    const auto replica = with_a_victim();
    ASSERT_TRUE(replica->apply({work("urgent", 100)}).ok());
    replica->world().advance(seconds{2});
    EXPECT_THAT(replica->told_of("low"), Contains("Preempted"));
  }
  replica_world next(store_, journal(), seconds{12});
  ASSERT_TRUE(next.start().ok());
  next.world().advance(seconds{2});
  EXPECT_EQ(next.pods("urgent", pod_phase::running), 0U) << "it was to wait still";
  EXPECT_THAT(next.told_of("low"), Not(Contains("Preempted")));
  EXPECT_TRUE(comes_to(next, "urgent", pod_phase::running, 1, seconds{30}));
}

TEST_F(told_once, wherever_the_replica_crashes_people_hear_of_a_victim_when_it_is_told) {
  int told_after = 0;
  for (int messages = 0; messages < 400; ++messages) {
    store_ = std::make_shared<memory_store>();
    std::filesystem::remove(journal());
    {
      const auto replica = with_a_victim();
      ASSERT_TRUE(replica->apply({work("urgent", 100)}).ok());
      for (int i = 0; i < messages; ++i)
        if (!replica->world().step())
          replica->world().tick();
    }
    const bool stopped = !read_account(journal()).stopped.empty();
    replica_world next(store_, journal(), seconds{12});
    ASSERT_TRUE(next.start().ok());
    next.world().advance(seconds{2});
    const auto told = std::ranges::count(next.told_of("low"), "Preempted");
    EXPECT_LE(told, stopped ? 0 : 1) << "after " << messages << " messages";
    told_after += static_cast<int>(told);
    EXPECT_FALSE(read_account(journal()).stopped.empty()) << "after " << messages << " messages";
    if (stopped)
      break;
  }
  EXPECT_GT(told_after, 0);
}

} // namespace

} // namespace reprieve
