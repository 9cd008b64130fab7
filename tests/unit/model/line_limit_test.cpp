#include "state/text/line_limit.hpp"

#include <gtest/gtest.h>

namespace reprieve {

namespace {

using std::chrono::seconds;

TEST(line_limit, lets_some_through_at_once_and_then_one_at_a_time) {
  line_limit limit{3, seconds{10}};
  const line_limit::instant start{seconds{1000}};
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(limit.pass("line", start), "line");
  for (int i = 0; i < 500; ++i)
    EXPECT_EQ(limit.pass("line", start + seconds{1}), std::nullopt);
  EXPECT_EQ(limit.pass("line", start + seconds{10}), "line (500 such lines were left out before)");
  EXPECT_EQ(limit.pass("line", start + seconds{11}), std::nullopt);
  EXPECT_EQ(limit.pass("line", start + seconds{20}), "line (1 such lines were left out before)");
}

TEST(line_limit, lets_as_many_through_again_after_a_while) {
  line_limit limit{3, seconds{10}};
  line_limit::instant now{seconds{1000}};
  for (int round = 0; round < 3; ++round, now += seconds{30})
    for (int i = 0; i < 3; ++i)
      EXPECT_EQ(limit.pass("line", now), "line");
}

} // namespace

} // namespace reprieve
