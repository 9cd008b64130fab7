#include "state/store/memory/memory_store.hpp"
#include "tests/stores/waiting.hpp"

#include <gtest/gtest.h>

namespace reprieve {

TEST(memory_store, gives_answers_to_its_executor_in_order) {
  std::vector<std::function<void()>> answers;
  memory_store store({.executor = [&](auto answer) { answers.push_back(std::move(answer)); }});
  std::vector<std::string> log;
  const auto watch = store.watch(with_prefix(""), 0, [&](auto batch) {
    log.push_back("watched " + batch->changes.at(0).value.value);
  });
  for (const auto* value : {"1", "2"})
    store.commit({{}, {put{"a", value}}},
                 [&, value](auto) { log.push_back("committed " + std::string(value)); });
  EXPECT_TRUE(log.empty());
  for (const auto& answer : answers)
    answer();
  EXPECT_EQ(log,
            (std::vector<std::string>{"watched 1", "committed 1", "watched 2", "committed 2"}));
}

TEST(memory_store, shows_every_watch_the_same_order_though_one_writes) {
  memory_store store;
  std::vector<std::string> first, second;
  const auto one = store.watch(just("a"), 0, [&](auto batch) {
    first.push_back(batch->changes.at(0).value.value);
    if (first.size() == 1)
      store.commit({{}, {put{"a", "answer"}}}, [](auto) {});
  });
  const auto other = store.watch(
    just("a"), 0, [&](auto batch) { second.push_back(batch->changes.at(0).value.value); });
  store.commit({{}, {put{"a", "question"}}}, [](auto) {});
  EXPECT_EQ(first, (std::vector<std::string>{"question", "answer"}));
  EXPECT_EQ(second, first);
}

TEST(memory_store, without_history_knows_only_the_newest) {
  memory_store store({.keep_history = false});
  std::optional<absl::StatusOr<range_result>> found;
  const auto read_at = [&](revision at) {
    store.read({with_prefix(""), 0, at, false}, [&](auto answer) { found = std::move(answer); });
  };
  ASSERT_TRUE(commit(store, {put{"a", "1"}, put{"b", "1"}}).ok());
  read_at(0);
  const auto first = (*found)->current;
  ASSERT_TRUE(commit(store, {put{"a", "2"}, erase{just("b")}}).ok());
  read_at(0);
  ASSERT_EQ((*found)->values.size(), 1U);
  EXPECT_EQ((*found)->values.front().value, "2");
  EXPECT_EQ((*found)->values.front().version, 2);
  read_at(first);
  EXPECT_TRUE(absl::IsOutOfRange(found->status())) << found->status();
}

TEST(memory_store, expires_an_abandoned_lease_when_its_time_is_over) {
  duration now = 1h;
  memory_store store({.clock = [&] { return now; }});
  int lost = 0;
  const auto lease = grant(store, 10s, [&] { ++lost; });
  ASSERT_TRUE(commit(store, {put{"a", "1", *lease}}).ok());
  now += 1h; // held, so time alone does nothing
  EXPECT_EQ(value_of(store, "a"), "1");
  store.abandon(*lease);
  now += 9s;
  store.expire_leases();
  EXPECT_EQ(lost, 0);
  now += 1s;
  EXPECT_EQ(value_of(store, "a"), "(absent)");
  EXPECT_EQ(lost, 1);
}

} // namespace reprieve
