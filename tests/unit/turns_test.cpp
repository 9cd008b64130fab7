#include "protocol/turns.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace reprieve {

namespace {

/// Keeps the turns of those who have one, by name.
class some_turns : public testing::Test {
protected:
  void take(const std::string& client, const std::string& who) {
    all.take(client, [this, who](turns::ticket turn) {
      started += started.empty() ? who : " " + who;
      held.push_back(std::move(turn));
    });
  }

  void give_first_back() {
    const auto first = std::move(held.front());
    held.erase(held.begin());
  }

  turns all{3, 2};
  std::string started;
  std::vector<turns::ticket> held;
};

TEST_F(some_turns, start_as_many_as_may_and_the_others_when_one_is_given_back) {
  take("a", "a1");
  take("a", "a2");
  take("a", "a3");
  take("b", "b1");
  take("b", "b2");
  EXPECT_EQ(started, "a1 a2 b1");
  give_first_back();
  EXPECT_EQ(started, "a1 a2 b1 b2");
  give_first_back();
  EXPECT_EQ(started, "a1 a2 b1 b2 a3");
  held.clear();
  take("a", "a4");
  EXPECT_EQ(started, "a1 a2 b1 b2 a3 a4");
}

TEST_F(some_turns, go_round_the_clients) {
  for (const auto* who : {"a1", "a2", "a3", "a4", "a5"})
    take("a", who);
  take("b", "b1");
  take("c", "c1");
  while (!held.empty())
    give_first_back();
  EXPECT_EQ(started, "a1 a2 b1 c1 a3 a4 a5");
}

TEST(turns, that_are_given_back_at_once_start_any_number_of_others) {
  turns one(1, 1);
  turns::ticket first;
  one.take("a", [&](turns::ticket turn) { first = std::move(turn); });
  int started = 0;
  for (int i = 0; i < 200'000; ++i)
    one.take("a", [&](const turns::ticket&) { ++started; });
  EXPECT_EQ(started, 0);
  first.reset();
  EXPECT_EQ(started, 200'000);
}

TEST(turns, are_never_more_than_may_be_from_many_threads) {
  turns few(4, 2);
  std::atomic<int> now = 0;
  std::atomic<int> most = 0;
  std::atomic<int> done = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 5000; ++i)
        few.take(std::to_string((t + i) % 5), [&](const turns::ticket&) {
          const int held = ++now;
          for (int seen = most; seen < held && !most.compare_exchange_weak(seen, held);) {
          }
          --now;
          ++done;
        });
    });
  for (auto& thread : threads)
    thread.join();
  EXPECT_EQ(done, 20'000);
  EXPECT_LE(most, 4);
}

} // namespace

} // namespace reprieve
