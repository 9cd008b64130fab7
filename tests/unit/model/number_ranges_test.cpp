#include "state/containers/number_ranges.hpp"
#include "tests/simulation/dice.hpp"

#include <gtest/gtest.h>

#include <set>

namespace reprieve {

namespace {

TEST(number_ranges, begin_with_all_below_a_number) {
  const number_ranges all{1'000'000};
  EXPECT_EQ(all.size(), 1'000'000);
  EXPECT_TRUE(all.contains(0));
  EXPECT_TRUE(all.contains(999'999));
  EXPECT_FALSE(all.contains(1'000'000));
  EXPECT_FALSE(all.contains(-1));
  EXPECT_TRUE(number_ranges{0}.empty());
}

TEST(number_ranges, find_the_next_and_the_last) {
  number_ranges some{10};
  some.erase(0);
  some.erase(4);
  some.erase(9);
  EXPECT_EQ(some.first_from(0), 1);
  EXPECT_EQ(some.first_from(4), 5);
  EXPECT_EQ(some.first_from(9), std::nullopt);
  EXPECT_EQ(some.last_before(10), 8);
  EXPECT_EQ(some.last_before(5), 3);
  EXPECT_EQ(some.last_before(1), std::nullopt);
}

TEST(number_ranges, that_have_the_same_numbers_are_the_same) {
  number_ranges one{6};
  one.erase(2);
  one.insert(2);
  EXPECT_EQ(one, number_ranges{6});
  EXPECT_FALSE(one.insert(3));
  EXPECT_FALSE(one.erase(6));
}

TEST(number_ranges, are_a_set_whatever_is_done_to_them) {
  simulation::dice luck{7};
  number_ranges ranges{20};
  std::set<std::int64_t> set;
  for (std::int64_t i = 0; i < 20; ++i)
    set.insert(i);
  for (int i = 0; i < 20'000; ++i) {
    const auto one = static_cast<std::int64_t>(luck.below(30));
    if (luck.one_in(2))
      ASSERT_EQ(ranges.insert(one), set.insert(one).second);
    else
      ASSERT_EQ(ranges.erase(one), set.erase(one) > 0);
    const auto from = static_cast<std::int64_t>(luck.below(32));
    const auto next = set.lower_bound(from);
    ASSERT_EQ(ranges.first_from(from), next == set.end() ? std::nullopt : std::optional{*next});
    ASSERT_EQ(ranges.last_before(from),
              next == set.begin() ? std::nullopt : std::optional{*std::prev(next)});
    ASSERT_EQ(ranges.size(), std::ssize(set));
    ASSERT_EQ(ranges.contains(from), set.contains(from));
  }
}

} // namespace

} // namespace reprieve
