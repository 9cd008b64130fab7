#include "protocol/limits/caller_turns.hpp"
#include "protocol/limits/client_limit.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <string>
#include <thread>
#include <utility>
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

TEST(turns, are_kept_for_clients_that_have_none) {
  turns all(16, 4);
  std::string started;
  std::map<std::string, std::vector<turns::ticket>> held;
  const auto take = [&](const std::string& client, int times) {
    for (int i = 0; i < times; ++i)
      all.take(client, [&, client](turns::ticket turn) {
        started += client;
        held[client].push_back(std::move(turn));
      });
  };
  for (const auto* client : {"a", "b", "c", "d"})
    take(client, 10);
  EXPECT_EQ(started, "aaaabbbbccccd");
  for (const auto* client : {"e", "f", "g"})
    take(client, 1);
  EXPECT_EQ(started, "aaaabbbbccccdefg");
  take("h", 1);
  held["a"].pop_back();
  EXPECT_EQ(started, "aaaabbbbccccdefgh") << "those who were there first have enough";
  held["e"].clear();
  held["f"].clear();
  held["g"].clear();
  held["h"].clear();
  EXPECT_EQ(started, "aaaabbbbccccdefgh");
  std::exchange(held["a"], {}).clear();
  EXPECT_EQ(started, "aaaabbbbccccdefghddda") << "and whoever has none left comes in again";
}

TEST(client_limit, keeps_the_last_quarter_for_clients_that_have_little) {
  client_limit limit({"bytes", "take some", "--bytes", 1280, 160});
  std::vector<client_limit::ticket> held;
  const auto may_have = [&](const std::string& client, std::int64_t amount) {
    auto opened = limit.open(client, amount);
    if (opened.ok())
      held.push_back(*std::move(opened));
    return opened.status();
  };
  for (const auto* client : {"a", "b", "c", "d", "e", "f"})
    EXPECT_TRUE(may_have(client, 160).ok());
  EXPECT_EQ(may_have("g", 11).message(),
            "there are 960 bytes, and the last quarter of the 1280 that this server takes is for "
            "clients with no more than 10; take some, or raise --bytes of reprieved");
  for (int i = 0; i < 32; ++i) {
    EXPECT_TRUE(may_have("g" + std::to_string(i), 9).ok());
    EXPECT_TRUE(may_have("g" + std::to_string(i), 1).ok());
  }
  EXPECT_EQ(may_have("h", 1).message(),
            "there are 1280 bytes, and this server takes 1280; try again when there are fewer, or "
            "raise --bytes of reprieved");
}

TEST(client_limit, lets_one_client_have_all_where_it_may) {
  client_limit limit({"bytes", "take some", "--bytes", 100, 100});
  EXPECT_TRUE(limit.open("a", 100).ok());
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
