#include "state/admission/queue_cycles.hpp"

#include <gmock/gmock.h>

namespace reprieve {

namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// Queues by name, with the names of their parents.
by_name<queue> queues(const std::vector<std::pair<std::string, std::string>>& all) {
  by_name<queue> made;
  for (const auto& [name, parent] : all) {
    made[name].name = name;
    made[name].parent = parent;
  }
  return made;
}

TEST(queue_cycles, are_not_in_a_tree) {
  EXPECT_THAT(cycles_in({}), IsEmpty());
  EXPECT_THAT(cycles_in(queues({{"a", ""}, {"b", "a"}, {"c", "a"}, {"d", "c"}})), IsEmpty());
}

TEST(queue_cycles, are_not_where_a_parent_is_missing) {
  EXPECT_THAT(cycles_in(queues({{"a", "gone"}, {"b", "a"}})), IsEmpty());
}

TEST(queue_cycles, have_a_queue_that_is_its_own_parent) {
  EXPECT_THAT(cycles_in(queues({{"a", ""}, {"b", "b"}})), ElementsAre(queue_cycle{"b"}));
}

TEST(queue_cycles, have_no_queue_that_is_only_below_them) {
  const auto all = queues({{"a", "c"}, {"below", "a"}, {"c", "b"}, {"b", "a"}, {"z", "below"}});
  EXPECT_THAT(cycles_in(all), ElementsAre(queue_cycle{"a", "c", "b"}));
  const auto first = queues({{"0", "b"}, {"a", "c"}, {"c", "b"}, {"b", "a"}});
  EXPECT_THAT(cycles_in(first), ElementsAre(queue_cycle{"a", "c", "b"}));
}

TEST(queue_cycles, are_all_found_once) {
  const auto all = queues({{"a", "b"}, {"b", "a"}, {"c", "c"}, {"d", "e"}, {"e", "d"}, {"f", "d"}});
  EXPECT_THAT(cycles_in(all),
              ElementsAre(queue_cycle{"a", "b"}, queue_cycle{"c"}, queue_cycle{"d", "e"}));
}

TEST(queue_cycles, are_told_by_their_names) {
  EXPECT_EQ(describe(queue_cycle{"a"}), "a -> a");
  EXPECT_EQ(describe(queue_cycle{"a", "b\n"}), "a -> b? -> a");
  EXPECT_EQ(describe(std::vector<queue_cycle>{{"a"}, {"b", "c"}}), "a -> a, b -> c -> b");
}

TEST(queue_cycles, are_told_in_few_words_however_long_they_are) {
  by_name<queue> all;
  for (int i = 10; i < 10'010; ++i)
    all[std::to_string(i)].parent = std::to_string(i == 10 ? 10'009 : i - 1);
  const auto found = cycles_in(all);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].size(), 10'000U);
  EXPECT_THAT(describe(found[0]), testing::StartsWith("10 -> 10009 -> 10008 -> "));
  EXPECT_THAT(describe(found[0]), testing::EndsWith(" -> 9992 more -> 10"));
}

} // namespace

} // namespace reprieve
