#include "tests/stores/store_contract.hpp"

namespace reprieve {

using reads = store_contract;
REPRIEVE_FOR_EVERY_STORE(reads);

TEST_P(reads, find_one_key_or_none) {
  write({put{"a", "1"}, put{"aa", "2"}});
  EXPECT_EQ(keys({.range = just("a")}), "a");
  EXPECT_EQ(keys({.range = just("b")}), "");
}

TEST_P(reads, give_keys_in_the_order_of_their_bytes) {
  write({put{"b", ""}, put{"\xc3\xa4", ""}, put{"a/2", ""}, put{"a/10", ""}, put{"B", ""}});
  EXPECT_EQ(keys({.range = with_prefix("")}), "B a/10 a/2 b \xc3\xa4");
}

TEST_P(reads, leave_the_end_of_the_range_out) {
  write({put{"a", ""}, put{"b", ""}, put{"c", ""}});
  EXPECT_EQ(keys({.range = {"a", "c"}}), "a b");
  EXPECT_EQ(keys({.range = {"b", std::string(no_end)}}), "b c");
}

TEST_P(reads, say_when_the_limit_cut_them_off) {
  write({put{"a", ""}, put{"b", ""}, put{"c", ""}});
  const auto cut = read(subject(), {.range = with_prefix(""), .limit = 2});
  EXPECT_EQ(cut->values.size(), 2u);
  EXPECT_TRUE(cut->more);
  const auto whole = read(subject(), {.range = with_prefix(""), .limit = 3});
  EXPECT_EQ(whole->values.size(), 3u);
  EXPECT_FALSE(whole->more);
}

TEST_P(reads, see_the_past) {
  const auto first = write({put{"a", "1"}, put{"b", "1"}});
  const auto second = write({put{"a", "2"}, put{"c", "2"}, erase{just("b")}});
  const auto third = write({put{"b", "3"}});
  EXPECT_EQ(keys({.range = with_prefix(""), .at = first}), "a b");
  EXPECT_EQ(keys({.range = with_prefix(""), .at = second}), "a c");
  EXPECT_EQ(keys({.range = with_prefix(""), .at = third}), "a b c");
  EXPECT_EQ(keys({.range = with_prefix(""), .at = first - 1}), "");
  const auto old = read(subject(), {.range = with_prefix(""), .limit = 1, .at = first});
  EXPECT_EQ(old->values[0], (key_value{"a", "1", first, first, 1, 0}));
  EXPECT_TRUE(old->more);
  EXPECT_EQ(old->current, third);
}

TEST_P(reads, refuse_a_revision_that_is_not_there_yet) {
  const auto found = read(subject(), {.range = just("a"), .at = current() + 100});
  EXPECT_TRUE(absl::IsOutOfRange(found.status())) << found.status();
}

TEST_P(reads, leave_values_out_when_asked_for_keys) {
  const auto first = write({put{"a", "secret"}});
  write({put{"b", "secret"}});
  for (const auto at : {first, revision(0)}) {
    const auto found = read(subject(), {.range = with_prefix(""), .at = at, .keys_only = true});
    ASSERT_FALSE(found->values.empty());
    EXPECT_EQ(found->values[0], (key_value{"a", "", first, first, 1, 0}));
  }
}

TEST_P(reads, take_a_prefix_at_its_word) {
  write({put{"a", ""}, put{"a\xff", ""}, put{"a\xff\xff", ""}, put{"a\xff\xff/1", ""}, put{"b", ""},
         put{"\xff", ""}, put{"\xff\xff", ""}});
  EXPECT_EQ(keys({.range = with_prefix("a\xff")}), "a\xff a\xff\xff a\xff\xff/1");
  EXPECT_EQ(keys({.range = with_prefix("a\xff\xff")}), "a\xff\xff a\xff\xff/1");
  EXPECT_EQ(keys({.range = with_prefix("\xff")}), "\xff \xff\xff");
  EXPECT_EQ(read(subject(), {.range = with_prefix("")})->values.size(), 7u);
}

TEST_P(reads, refuse_what_breaks_a_limit) {
  const range_request broken[] = {{.range = just("")},
                                  {.range = {"b", "a"}},
                                  {.range = just("a"), .limit = -1},
                                  {.range = just("a"), .at = -1}};
  for (const auto& one : broken) {
    const auto found = read(subject(), one);
    EXPECT_TRUE(absl::IsInvalidArgument(found.status())) << found.status();
  }
}

TEST_P(reads, outlast_a_compaction_as_far_as_it_kept_history) {
  const auto first = write({put{"a", "1"}, put{"b", "1"}});
  const auto second = write({put{"a", "2"}});
  const auto third = write({erase{just("b")}, put{"a", "3"}});
  ASSERT_TRUE(compact(backend().compactor(), third).ok());
  EXPECT_EQ(keys({.range = with_prefix(""), .at = second}), "a b");
  EXPECT_EQ(read(subject(), {.range = just("a"), .at = second})->values[0].value, "2");
  EXPECT_EQ(keys({.range = with_prefix("")}), "a");
  const auto forgotten = read(subject(), {.range = just("a"), .at = first});
  EXPECT_TRUE(absl::IsOutOfRange(forgotten.status())) << forgotten.status();
}

TEST_P(reads, are_not_changed_by_compacting_to_the_newest_revision) {
  write({put{"a", "1"}, put{"b", "1"}});
  write({put{"a", "2"}, erase{just("b")}});
  ASSERT_TRUE(compact(backend().compactor(), current() + 1).ok());
  EXPECT_EQ(value_of(subject(), "a"), "2");
  EXPECT_EQ(keys({.range = with_prefix("")}), "a");
}

TEST_P(reads, go_on_when_a_compaction_is_refused) {
  if (const auto why = backend().cannot_compact(); !why.empty())
    GTEST_SKIP() << why;
  write({put{"a", "0"}});
  const auto at = write({put{"a", "1"}});
  const auto future = compact(subject(), at + 100);
  EXPECT_TRUE(absl::IsOutOfRange(future.status())) << future.status();
  EXPECT_TRUE(compact(subject(), at).ok());
  const auto again = compact(subject(), at);
  EXPECT_TRUE(absl::IsOutOfRange(again.status())) << again.status();
  EXPECT_EQ(value_of(subject(), "a"), "1");
}

} // namespace reprieve
