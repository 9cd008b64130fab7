#include "state/store/joint_transaction.hpp"

#include <gtest/gtest.h>

namespace reprieve {

namespace {

transaction writes(std::string key, std::vector<comparison> compared = {}) {
  return {std::move(compared), {put{std::move(key), "value", 0}}};
}

comparison modified(std::string key, revision to) {
  return {std::move(key), compared::modified, to};
}

TEST(joint_transaction, has_all_that_its_parts_write_and_compares_once_what_they_share) {
  joint_transaction joint;
  EXPECT_TRUE(joint.is_empty());
  EXPECT_TRUE(joint.add(writes("d/open/1", {modified("own/r", 7), modified("d/open/1", 0)})));
  EXPECT_TRUE(joint.add(writes("d/open/2", {modified("own/r", 7), modified("d/open/2", 0)})));
  EXPECT_EQ(joint.whole().operations.size(), 2U);
  EXPECT_EQ(joint.whole().comparisons.size(), 3U);
  EXPECT_TRUE(check_limits(joint.whole()).ok());
}

TEST(joint_transaction, has_no_key_written_twice) {
  joint_transaction joint;
  EXPECT_TRUE(joint.add(writes("a")));
  EXPECT_FALSE(joint.add(writes("a")));
  EXPECT_FALSE(joint.add({{}, {erase{just("a")}}}));
  EXPECT_TRUE(joint.add(writes("b")));
}

TEST(joint_transaction, does_not_compare_what_another_part_writes) {
  joint_transaction joint;
  EXPECT_TRUE(joint.add(writes("a", {modified("x", 1)})));
  EXPECT_FALSE(joint.add(writes("b", {modified("a", 1)}))) << "it would be compared before";
  EXPECT_FALSE(joint.add(writes("x"))) << "the one before would not see it";
}

TEST(joint_transaction, does_not_compare_a_key_with_two_numbers) {
  joint_transaction joint;
  EXPECT_TRUE(joint.add(writes("a", {modified("own/r", 7)})));
  EXPECT_FALSE(joint.add(writes("b", {modified("own/r", 8)})));
  EXPECT_FALSE(joint.add(writes("b", {{"own/r", compared::created, 7}})));
}

TEST(joint_transaction, keeps_every_comparison_of_one_part) {
  joint_transaction joint;
  EXPECT_TRUE(joint.add(writes("a", {modified("x", 7), {"x", compared::created, 3}})));
  EXPECT_EQ(joint.whole().comparisons.size(), 2U);
}

TEST(joint_transaction, takes_what_is_small_and_touches_single_keys) {
  EXPECT_TRUE(joint_transaction::takes(writes("a")));
  EXPECT_TRUE(joint_transaction::takes({{}, {erase{just("a")}}}));
  EXPECT_FALSE(joint_transaction::takes({{modified("a", 1)}, {}})) << "nothing is written";
  EXPECT_FALSE(joint_transaction::takes({{}, {erase{with_prefix("a")}}}));
  EXPECT_FALSE(joint_transaction::takes({{}, {put{"a", "x", 5}}})) << "a lease may be gone";
  EXPECT_FALSE(joint_transaction::takes({{}, {put{"a", std::string(200'000, 'x'), 0}}}));
  transaction large;
  for (int i = 0; i < 100; ++i)
    large.operations.emplace_back(put{"k" + std::to_string(i), "x", 0});
  EXPECT_FALSE(joint_transaction::takes(large));
}

TEST(joint_transaction, stays_within_what_a_store_takes) {
  joint_transaction joint;
  int parts = 0;
  while (joint.add(writes("k" + std::to_string(parts), {modified("c" + std::to_string(parts), 0)})))
    ++parts;
  EXPECT_EQ(parts, 128);
  EXPECT_TRUE(check_limits(joint.whole()).ok());
  joint_transaction heavy;
  for (parts = 0; heavy.add({{}, {put{"k" + std::to_string(parts), std::string(90'000, 'x'), 0}}});
       ++parts)
    ;
  EXPECT_GT(parts, 5);
  EXPECT_TRUE(check_limits(heavy.whole()).ok());
}

} // namespace

} // namespace reprieve
