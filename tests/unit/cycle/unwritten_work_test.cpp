#include "preemption/waiting/unwritten_work.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

/// One workload's trouble is its own.
namespace reprieve {

namespace {

using std::chrono::seconds;

constexpr time_point now{std::chrono::hours{1}};

const std::vector<std::string> both{"a", "b"};
const std::vector<std::string> a{"a"};
const std::vector<std::string> b{"b"};

TEST(unwritten_work, of_which_several_had_a_part_is_decided_for_one_by_one) {
  unwritten_work all;
  EXPECT_FALSE(all.most_by_itself("a"));
  all.failed(both, 20, false, "too large", now);
  EXPECT_EQ(all.most_by_itself("a"), unwritten_work::most_pods_at_once);
  EXPECT_EQ(all.most_by_itself("b"), unwritten_work::most_pods_at_once);
  EXPECT_FALSE(all.aside("a", now)) << "it may be the other's";
  all.succeeded(b);
  EXPECT_FALSE(all.most_by_itself("b"));
  EXPECT_TRUE(all.most_by_itself("a"));
}

TEST(unwritten_work, comes_in_smaller_parts_before_it_is_put_aside) {
  unwritten_work all;
  std::size_t last = 512;
  int tries = 0;
  for (; !all.aside("a", now); ++tries) {
    all.failed(a, last, false, "too large", now);
    EXPECT_LE(*all.most_by_itself("a"), last);
    last = *all.most_by_itself("a");
  }
  EXPECT_EQ(last, 1U);
  EXPECT_EQ(tries, 4); // of 512, 64, 8 and 1
  EXPECT_EQ(all.aside("a", now)->why, "too large");
}

TEST(unwritten_work, that_goes_whole_is_put_aside_for_longer_each_time) {
  unwritten_work all;
  auto at = now;
  duration before{0};
  for (int i = 0; i < 20; ++i) {
    all.failed(a, 1000, true, "too large", at);
    const auto aside = all.aside("a", at);
    ASSERT_TRUE(aside);
    const auto pause = aside->until - at;
    EXPECT_TRUE(pause > before || pause == unwritten_work::longest_pause);
    EXPECT_FALSE(all.aside("a", aside->until));
    before = pause;
    at = aside->until;
  }
  EXPECT_EQ(before, unwritten_work::longest_pause);
}

TEST(unwritten_work, is_told_of_once_when_its_time_has_come) {
  unwritten_work all;
  all.failed(a, 1, true, "too large", now);
  all.failed(b, 1, true, "too large", now + seconds{10});
  std::vector<std::string> due;
  const auto take = [&](const std::string& name) { due.push_back(name); };
  EXPECT_EQ(all.each_due(now, take), now + unwritten_work::first_pause);
  EXPECT_EQ(all.each_due(now + seconds{2}, take), now + seconds{10} + unwritten_work::first_pause);
  EXPECT_EQ(all.each_due(now + seconds{2}, take), now + seconds{10} + unwritten_work::first_pause);
  EXPECT_EQ(due, a);
  EXPECT_TRUE(all.most_by_itself("a")) << "it still is by itself";
  all.forget("a");
  all.forget("b");
  EXPECT_TRUE(all.empty());
}

} // namespace

} // namespace reprieve
