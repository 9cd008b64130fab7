#include "state/store/store_history.hpp"

#include <gtest/gtest.h>

namespace reprieve {

namespace {

using std::chrono::minutes;
using std::chrono::seconds;

const time_point start{std::chrono::hours{1}};

TEST(store_history, forgets_what_is_older_than_it_is_kept_for) {
  store_history history(minutes{10});
  EXPECT_EQ(history.interval(), minutes{1});
  for (int i = 0; i < 10; ++i)
    EXPECT_EQ(history.saw(start + minutes{i}, 100 + i), std::nullopt) << i;
  EXPECT_EQ(history.saw(start + minutes{10}, 110), 100);
  EXPECT_EQ(history.saw(start + minutes{11}, 111), 101);
}

TEST(store_history, is_left_alone_while_nothing_happens) {
  store_history history(minutes{10});
  for (int i = 0; i < 100; ++i) {
    const auto before = history.saw(start + minutes{i}, 7);
    EXPECT_EQ(before.has_value(), i == 10) << i;
  }
}

TEST(store_history, is_forgotten_to_the_newest_look_that_is_old_enough) {
  store_history history(minutes{10});
  EXPECT_EQ(history.saw(start, 1), std::nullopt);
  EXPECT_EQ(history.saw(start + minutes{4}, 50), std::nullopt);
  EXPECT_EQ(history.saw(start + minutes{60}, 900), 50);
}

TEST(store_history, begins_anew_where_somebody_else_saw_to_it) {
  store_history history(minutes{10});
  EXPECT_EQ(history.saw(start, 1), std::nullopt);
  history.forget();
  EXPECT_EQ(history.saw(start + minutes{11}, 80), std::nullopt);
  EXPECT_EQ(history.saw(start + minutes{21}, 90), 80);
}

TEST(store_history, is_looked_at_often_enough_for_a_short_one_and_not_at_all_for_ever) {
  EXPECT_EQ(store_history{seconds{5}}.interval(), std::chrono::milliseconds{500});
  EXPECT_TRUE(store_history{duration{0}}.is_kept_for_ever());
  EXPECT_FALSE(store_history{seconds{5}}.is_kept_for_ever());
}

} // namespace

} // namespace reprieve
