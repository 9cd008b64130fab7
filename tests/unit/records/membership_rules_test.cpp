#include "state/membership/membership_rules.hpp"

#include <gtest/gtest.h>

namespace reprieve::tests {

namespace {

using names = std::set<std::string>;

member joined_at(revision joined, names owned = {}) {
  member one;
  one.joined = joined;
  one.owned = std::move(owned);
  return one;
}

} // namespace

TEST(membership_rules, give_the_queue_tree_to_whoever_joined_first) {
  const membership known{{{"a", joined_at(7)}, {"b", joined_at(3)}}, {}, {}};

  EXPECT_EQ(next_steps(known, "b", false).take, names{"q/main"});
  EXPECT_TRUE(next_steps(known, "a", false).take.empty());
}

TEST(membership_rules, let_the_queue_tree_stay_where_it_is) {
  const membership known{{{"a", joined_at(7, {"q/main"})}, {"b", joined_at(3)}}, {}, {}};

  EXPECT_EQ(next_steps(known, "a", false), ownership_steps{});
  EXPECT_EQ(next_steps(known, "b", false), ownership_steps{});
}

TEST(membership_rules, let_a_replica_take_only_what_nobody_has) {
  const membership known{{{"a", joined_at(1, {"q/main", "n/g.0"})}, {"b", joined_at(2)}},
                         {{"n/g.0", "b"}, {"n/g.1", "b"}},
                         {}};

  EXPECT_EQ(next_steps(known, "b", false).take, names{"n/g.1"});
  EXPECT_EQ(next_steps(known, "a", false).stop, names{"n/g.0"});
}

TEST(membership_rules, keep_what_should_go_to_somebody_who_is_not_there) {
  const membership known{{{"a", joined_at(1, {"n/g.0"})}}, {{"n/g.0", "b"}}, {}};

  EXPECT_TRUE(next_steps(known, "a", false).stop.empty());
}

TEST(membership_rules, stop_what_is_in_no_table_any_more) {
  const membership known{{{"a", joined_at(1, {"q/main", "n/old.0"})}}, {{"n/g.0", "a"}}, {}};

  EXPECT_EQ(next_steps(known, "a", false).stop, names{"n/old.0"});
  EXPECT_EQ(next_steps(known, "a", false).take, names{"n/g.0"});
}

TEST(membership_rules, have_who_leaves_give_up_everything_and_take_nothing) {
  const membership known{
    {{"a", joined_at(1, {"q/main", "n/g.0"})}}, {{"n/g.0", "a"}, {"n/g.1", "a"}}, {}};

  EXPECT_EQ(next_steps(known, "a", true), (ownership_steps{{}, {"q/main", "n/g.0"}}));
}

TEST(membership_rules, let_nobody_take_anything_while_a_record_can_not_be_read) {
  membership known{{{"a", joined_at(1)}, {"b", joined_at(2)}}, {{"n/g.0", "a"}}, {}};
  known.members["b"].readable = false;

  EXPECT_EQ(next_steps(known, "a", false), ownership_steps{});
}

TEST(membership_rules, leave_nothing_to_do_for_who_has_no_record) {
  EXPECT_EQ(next_steps({{}, {{"n/g.0", "a"}}, {}}, "a", false), ownership_steps{});
}

TEST(membership_rules, have_records_written_in_the_newest_version_that_all_know) {
  membership known{{{"a", joined_at(1)}, {"b", joined_at(2)}}, {}, {}, 1};
  known.members["a"].schema = 3;
  known.members["b"].schema = 2;

  EXPECT_EQ(schema_to_use(known), 2);
  EXPECT_EQ(able_members(known), (names{"a", "b"}));

  known.schema = 2;
  known.members["c"] = joined_at(3);
  known.members["c"].schema = 1;
  EXPECT_EQ(schema_to_use(known), 2) << "it is never lowered";
  EXPECT_EQ(able_members(known), (names{"a", "b"}));
  EXPECT_EQ(schema_to_use({{}, {}, {}, 2}), 2);
}

} // namespace reprieve::tests
