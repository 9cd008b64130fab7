#include "actors/replica/restart_pauses.hpp"

#include <gtest/gtest.h>

namespace reprieve {

namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

TEST(restart_pauses, grow_with_each_end_up_to_a_few_seconds) {
  restart_pauses pauses;
  time_point now{seconds{1000}};
  EXPECT_EQ(pauses.ended("n/default.0", now), duration{0});
  for (const auto expected : {100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000})
    EXPECT_EQ(pauses.ended("n/default.0", now += seconds{6}), milliseconds{expected});
  EXPECT_EQ(pauses.left("n/default.0", now + seconds{2}), seconds{3});
  EXPECT_EQ(pauses.left("n/default.0", now + seconds{9}), seconds{0});
  EXPECT_EQ(pauses.times("n/default.0"), 10);
}

TEST(restart_pauses, are_each_ones_own_and_end_when_it_has_gone_on_for_a_while) {
  restart_pauses pauses;
  time_point now{seconds{1000}};
  for (int i = 0; i < 20; ++i)
    pauses.ended("w/default.0", now);
  EXPECT_EQ(pauses.ended("n/default.0", now), duration{0});
  EXPECT_EQ(pauses.left("c/default", now), duration{0});
  now += minutes{2};
  EXPECT_EQ(pauses.ended("w/default.0", now), duration{0});
  EXPECT_EQ(pauses.times("w/default.0"), 21);
}

} // namespace

} // namespace reprieve
