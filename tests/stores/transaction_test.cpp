#include "tests/stores/store_contract.hpp"

#include <thread>

namespace reprieve {

using transactions = store_contract;
REPRIEVE_FOR_EVERY_STORE(transactions);

TEST_P(transactions, give_every_write_the_next_revision) {
  const auto before = current();
  EXPECT_EQ(write({put{"a", "1"}}), before + 1);
  EXPECT_EQ(write({put{"b", "1"}}), before + 2);
  EXPECT_EQ(current(), before + 2);
}

TEST_P(transactions, count_the_versions_of_a_key_from_its_creation) {
  const auto first = write({put{"a", "1"}});
  const auto second = write({put{"a", "2"}});
  const auto found = read(subject(), {.range = just("a")});
  ASSERT_TRUE(found.ok()) << found.status();
  ASSERT_EQ(found->values.size(), 1u);
  EXPECT_EQ(found->values[0], (key_value{"a", "2", first, second, 2, 0}));
}

TEST_P(transactions, start_anew_with_a_key_that_was_erased) {
  write({put{"a", "1"}});
  write({erase{just("a")}});
  const auto again = write({put{"a", "2"}});
  const auto found = read(subject(), {.range = just("a")});
  ASSERT_EQ(found->values.size(), 1u);
  EXPECT_EQ(found->values[0], (key_value{"a", "2", again, again, 1, 0}));
}

TEST_P(transactions, compare_what_is_there) {
  const auto created = write({put{"a", "1"}});
  const auto modified = write({put{"a", "2"}});
  struct {
    comparison wanted;
    bool holds;
  } const cases[] = {
    {{"a", compared::created, created}, true},   {{"a", compared::created, modified}, false},
    {{"a", compared::modified, modified}, true}, {{"a", compared::modified, created}, false},
    {{"a", compared::version, 2}, true},         {{"a", compared::version, 1}, false},
    {{"a", compared::created, 0}, false},        {{"a", compared::version, 0}, false},
  };
  for (const auto& [wanted, holds] : cases) {
    const auto result = commit(subject(), transaction{{wanted}, {}});
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(result->succeeded, holds)
      << static_cast<int>(wanted.field) << " compared with " << wanted.to;
    EXPECT_EQ(result->current, modified);
  }
}

TEST_P(transactions, take_an_absent_key_for_zero) {
  write({put{"erased", "1"}});
  write({erase{just("erased")}});
  for (const auto* key : {"never", "erased"})
    for (const auto field : {compared::created, compared::modified, compared::version}) {
      EXPECT_TRUE(commit(subject(), transaction{{{key, field, 0}}, {}})->succeeded) << key;
      EXPECT_FALSE(commit(subject(), transaction{{{key, field, 1}}, {}})->succeeded) << key;
    }
}

TEST_P(transactions, do_nothing_when_one_comparison_fails) {
  const auto before = write({put{"a", "old"}, put{"b", "old"}});
  const auto result =
    commit(subject(), transaction{{{"a", compared::modified, before}, {"b", compared::version, 7}},
                                  {put{"a", "new"}, erase{just("b")}}});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_FALSE(result->succeeded);
  EXPECT_EQ(result->current, before);
  EXPECT_EQ(value_of(subject(), "a"), "old");
  EXPECT_EQ(value_of(subject(), "b"), "old");
}

TEST_P(transactions, do_all_their_operations_at_one_revision) {
  write({put{"gone", "1"}});
  const auto at = write({put{"a", "1"}, put{"b", "2"}, erase{just("gone")}});
  const auto found = read(subject(), {.range = with_prefix("")});
  ASSERT_EQ(found->values.size(), 2u);
  EXPECT_EQ(found->values[0].modified, at);
  EXPECT_EQ(found->values[1].modified, at);
  EXPECT_EQ(found->current, at);
}

TEST_P(transactions, make_no_revision_when_nothing_changes) {
  const auto before = write({put{"a", "1"}});
  EXPECT_EQ(write({}), before);
  EXPECT_EQ(write({erase{just("absent")}, erase{{"x", "z"}}}), before);
  EXPECT_EQ(current(), before);
}

TEST_P(transactions, erase_a_range_and_nothing_beside_it) {
  write({put{"a", ""}, put{"b", ""}, put{"b/1", ""}, put{"c", ""}, put{"d", ""}});
  write({erase{{"b", "d"}}});
  EXPECT_EQ(keys({.range = with_prefix("")}), "a d");
  write({erase{with_prefix("")}});
  EXPECT_EQ(keys({.range = with_prefix("")}), "");
}

TEST_P(transactions, take_as_much_as_the_limits_allow) {
  transaction full;
  for (std::size_t i = 0; i < store_limits::operations; ++i) {
    const auto key = "key-" + std::to_string(i);
    full.comparisons.push_back({key, compared::version, 0});
    full.operations.push_back(put{key, std::string(11'000, 'x')});
  }
  EXPECT_TRUE(check_limits(full).ok());
  const auto result = commit(subject(), full);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(result->succeeded);
  const std::string largest(store_limits::bytes - 5, 'x');
  write({put{"large", largest}});
  EXPECT_EQ(value_of(subject(), "large"), largest);
}

TEST_P(transactions, refuse_what_breaks_a_limit) {
  transaction operations, comparisons;
  for (std::size_t i = 0; i <= store_limits::operations; ++i) {
    operations.operations.push_back(put{"key-" + std::to_string(i), ""});
    comparisons.comparisons.push_back({"key", compared::version, 0});
  }
  const transaction broken[] = {
    operations,
    comparisons,
    {{}, {put{"a", std::string(store_limits::bytes, 'x')}}},
    {{}, {put{"a", "1"}, put{"a", "2"}}},
    {{}, {erase{{"a", "c"}}, put{"b", "1"}}},
    {{}, {put{"z", "1"}, erase{with_prefix("")}}},
    {{}, {put{"", "1"}}},
    {{}, {erase{just("")}}},
    {{}, {erase{{"b", "a"}}}},
    {{{"", compared::version, 0}}, {}},
  };
  const auto before = current();
  for (const auto& one : broken) {
    const auto result = commit(subject(), one);
    EXPECT_TRUE(absl::IsInvalidArgument(result.status())) << result.status();
    EXPECT_FALSE(result.status().message().empty());
  }
  EXPECT_EQ(current(), before);
}

TEST_P(transactions, keep_every_byte_of_keys_and_values) {
  std::string every;
  for (int byte = 0; byte < 256; ++byte)
    every += static_cast<char>(byte);
  write({put{every, every}, put{"empty", ""}});
  EXPECT_EQ(value_of(subject(), every), every);
  EXPECT_EQ(value_of(subject(), "empty"), "");
}

TEST_P(transactions, lose_no_update_among_several_threads) {
  constexpr int writers = 4;
  constexpr int increments = 25;
  const auto increment = [&] {
    for (int done = 0; done < increments;) {
      const auto found = read(subject(), {.range = just("counter")});
      ASSERT_TRUE(found.ok()) << found.status();
      const auto old = found->values.empty() ? key_value{"counter", "0"} : found->values[0];
      const auto result =
        commit(subject(), transaction{{{"counter", compared::modified, old.modified}},
                                      {put{"counter", std::to_string(std::stoi(old.value) + 1)}}});
      ASSERT_TRUE(result.ok()) << result.status();
      done += result->succeeded;
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < writers; ++i)
    threads.emplace_back(increment);
  for (auto& thread : threads)
    thread.join();
  EXPECT_EQ(value_of(subject(), "counter"), std::to_string(writers * increments));
}

TEST_P(transactions, may_be_made_by_a_callback) {
  const auto result = answer_to<transaction_result>([&](auto done) {
    subject().commit({{}, {put{"a", "1"}}}, [this, done](auto first) {
      ASSERT_TRUE(first.ok());
      subject().commit({{{"a", compared::modified, first->current}}, {put{"a", "2"}}}, done);
    });
  });
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(result->succeeded);
  EXPECT_EQ(value_of(subject(), "a"), "2");
}

} // namespace reprieve
