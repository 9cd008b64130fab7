#include "tests/stores/store_contract.hpp"

#include <atomic>

namespace reprieve {

using watches = store_contract;
REPRIEVE_FOR_EVERY_STORE(watches);

std::string put_at(const std::string& what, revision at) {
  return "+" + what + "@" + std::to_string(at);
}

std::string erase_at(const std::string& what, revision at) {
  return "-" + what + "@" + std::to_string(at);
}

TEST_P(watches, from_now_on_see_what_comes) {
  write({put{"a", "old"}});
  watch_log log;
  const auto watch = subject().watch(with_prefix(""), 0, log.callback());
  EXPECT_TRUE(eventually([&] {
    write({put{"b", "new"}});
    return !log.batches().empty();
  }));
  EXPECT_EQ(log.changes(1).find("+a"), std::string::npos);
}

TEST_P(watches, from_the_past_see_everything_since_in_order) {
  const auto first = write({put{"a", "1"}});
  const auto second = write({put{"b", "2"}});
  const auto third = write({erase{just("a")}});
  const auto fourth = write({put{"a", "4"}});
  watch_log log;
  const auto watch = subject().watch(with_prefix(""), second, log.callback());
  const auto fifth = write({put{"c", "5"}});
  EXPECT_EQ(log.changes(4), put_at("b=2", second) + " " + erase_at("a", third) + " "
                              + put_at("a=4", fourth) + " " + put_at("c=5", fifth));
  EXPECT_LT(first, second);
}

TEST_P(watches, see_the_numbers_of_a_key) {
  const auto created = write({put{"a", "1"}});
  const auto modified = write({put{"a", "2"}});
  const auto erased = write({erase{just("a")}});
  watch_log log;
  const auto watch = subject().watch(just("a"), modified, log.callback());
  log.changes(2);
  std::vector<change> changes;
  for (const auto& batch : log.batches())
    changes.insert(changes.end(), batch.changes.begin(), batch.changes.end());
  ASSERT_EQ(changes.size(), 2u);
  EXPECT_EQ(changes[0].value, (key_value{"a", "2", created, modified, 2, 0}));
  EXPECT_EQ(changes[1].value, (key_value{"a", "", 0, erased, 0, 0}));
}

TEST_P(watches, see_their_range_only) {
  const auto from = current() + 1;
  watch_log one, range;
  const auto first = subject().watch(just("b"), from, one.callback());
  const auto second = subject().watch({"b", "d"}, from, range.callback());
  const auto at = write({put{"a", ""}, put{"b", ""}, put{"b/1", ""}, put{"c", ""}, put{"d", ""}});
  const auto end = write({put{"b", "end"}, put{"c", "end"}});
  EXPECT_EQ(one.changes(2), put_at("b=", at) + " " + put_at("b=end", end));
  EXPECT_EQ(range.changes(5), put_at("b=", at) + " " + put_at("b/1=", at) + " " + put_at("c=", at)
                                + " " + put_at("b=end", end) + " " + put_at("c=end", end));
}

TEST_P(watches, get_all_changes_of_a_revision_in_one_batch) {
  std::vector<operation> many;
  for (int i = 0; i < 100; ++i)
    many.push_back(put{"key-" + std::to_string(i), std::string(1'000, 'x')});
  const auto from = write(many);
  for (int i = 0; i < 20; ++i)
    write(many);
  watch_log log;
  const auto watch = subject().watch(with_prefix(""), from, log.callback());
  for (int i = 0; i < 5; ++i)
    write(many);
  log.changes(2'600);
  revision last = from - 1;
  std::map<revision, std::size_t> seen;
  for (const auto& batch : log.batches()) {
    ASSERT_FALSE(batch.changes.empty());
    EXPECT_GT(batch.changes.front().value.modified, last);
    last = batch.current;
    EXPECT_EQ(batch.changes.back().value.modified, last);
    for (const auto& one : batch.changes)
      ++seen[one.value.modified];
  }
  EXPECT_EQ(seen.size(), 26u);
  for (const auto& [at, number] : seen)
    EXPECT_EQ(number, 100u) << at;
}

TEST_P(watches, get_more_than_fits_in_one_message) {
  const auto from = current() + 1;
  for (int i = 0; i < 6; ++i)
    write({put{"a", std::string(700'000, 'x')}, put{"b", std::string(700'000, 'y')}});
  watch_log log;
  const auto watch = subject().watch(with_prefix(""), from, log.callback());
  log.changes(12);
  std::map<revision, int> batches;
  std::size_t changes = 0;
  for (const auto& batch : log.batches()) {
    changes += batch.changes.size();
    ++batches[batch.changes.front().value.modified];
    ++batches[batch.changes.back().value.modified];
    EXPECT_EQ(batch.changes.size() % 2, 0u);
  }
  EXPECT_EQ(changes, 12u);
}

TEST_P(watches, can_start_in_the_future) {
  const auto at = write({put{"a", "1"}});
  watch_log log;
  const auto watch = subject().watch(just("a"), at + 2, log.callback());
  write({put{"a", "2"}});
  const auto seen = write({put{"a", "3"}});
  EXPECT_EQ(log.changes(1), put_at("a=3", seen));
}

TEST_P(watches, resume_behind_the_last_batch) {
  const auto first = write({put{"a", "1"}});
  watch_log before, after;
  auto watch = subject().watch(just("a"), first, before.callback());
  EXPECT_EQ(before.changes(1), put_at("a=1", first));
  watch.reset();
  const auto second = write({put{"a", "2"}});
  watch = subject().watch(just("a"), before.batches().back().current + 1, after.callback());
  EXPECT_EQ(after.changes(1), put_at("a=2", second));
}

TEST_P(watches, call_nobody_when_their_handle_has_gone) {
  auto calls = std::make_shared<std::atomic<int>>(0);
  auto watch = subject().watch(with_prefix(""), current() + 1, [calls](auto) { ++*calls; });
  write({put{"a", "1"}});
  ASSERT_TRUE(eventually([&] { return *calls > 0; }));
  watch.reset();
  const int before = *calls;
  watch_log other;
  const auto witness = subject().watch(with_prefix(""), current() + 1, other.callback());
  write({put{"a", "2"}});
  other.changes(1);
  EXPECT_EQ(*calls, before);
}

TEST_P(watches, may_end_within_their_own_callback) {
  std::atomic<int> calls = 0;
  std::unique_ptr<watch_handle> watch;
  std::promise<void> assigned, ended;
  auto is_assigned = assigned.get_future().share();
  watch_log other;
  const auto from = write({put{"a", "1"}}) + 1;
  const auto witness = subject().watch(with_prefix(""), from, other.callback());
  watch = subject().watch(with_prefix(""), from, [&](auto) {
    is_assigned.wait();
    if (++calls == 1) {
      watch.reset();
      ended.set_value();
    }
  });
  assigned.set_value();
  write({put{"a", "2"}});
  ASSERT_EQ(ended.get_future().wait_for(patience), std::future_status::ready);
  write({put{"a", "3"}});
  other.changes(2);
  EXPECT_EQ(calls, 1);
}

TEST_P(watches, are_refused_where_history_is_compacted) {
  const auto first = write({put{"a", "1"}, put{"b", "1"}});
  const auto second = write({put{"a", "2"}});
  const auto third = write({erase{just("b")}});
  ASSERT_TRUE(compact(backend().compactor(), third).ok());
  for (const auto from : {first, second}) {
    watch_log log;
    const auto watch = subject().watch(with_prefix(""), from, log.callback());
    const auto error = log.error();
    EXPECT_TRUE(absl::IsOutOfRange(error)) << error;
    EXPECT_TRUE(log.batches().empty());
  }
  watch_log log;
  const auto watch = subject().watch(with_prefix(""), third, log.callback());
  const auto fourth = write({put{"a", "4"}});
  EXPECT_EQ(log.changes(2), erase_at("b", third) + " " + put_at("a=4", fourth));
}

TEST_P(watches, refuse_an_empty_range) {
  watch_log log;
  const auto watch = subject().watch({"b", "a"}, 0, log.callback());
  EXPECT_TRUE(absl::IsInvalidArgument(log.error()));
}

TEST_P(watches, see_the_same_as_a_read_that_they_continue) {
  write({put{"a", "1"}, put{"b", "1"}});
  const auto listed = read(subject(), {.range = with_prefix("")});
  watch_log log;
  const auto watch = subject().watch(with_prefix(""), listed->current + 1, log.callback());
  write({put{"a", "2"}, erase{just("b")}});
  write({put{"c", "1"}});
  log.changes(3);
  std::map<std::string, std::string> mirror;
  for (const auto& one : listed->values)
    mirror[one.key] = one.value;
  for (const auto& batch : log.batches())
    for (const auto& one : batch.changes) {
      if (one.kind == change::type::put)
        mirror[one.value.key] = one.value.value;
      else
        mirror.erase(one.value.key);
    }
  EXPECT_EQ(mirror, (std::map<std::string, std::string>{{"a", "2"}, {"c", "1"}}));
}

} // namespace reprieve
