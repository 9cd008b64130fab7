#include "state/containers/copy_on_write.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace reprieve {

namespace {

using numbers = copy_on_write<std::vector<int>>;

TEST(copy_on_write, copies_share_their_value_until_one_changes) {
  numbers first;
  EXPECT_TRUE(first.read().empty());
  first.write() = {1, 2};
  auto second = first;
  EXPECT_TRUE(second.is_same_as(first));
  EXPECT_EQ(&second.read(), &first.read());
  second.write().push_back(3);
  EXPECT_FALSE(second.is_same_as(first));
  EXPECT_EQ(first.read(), (std::vector{1, 2}));
  EXPECT_EQ(second.read(), (std::vector{1, 2, 3}));
}

TEST(copy_on_write, who_has_a_value_alone_changes_it_in_place) {
  numbers first;
  first.write() = {1};
  const auto* place = &first.read();
  { const auto second = first; }
  first.write()[0] = 2;
  EXPECT_EQ(&first.read(), place);
  const auto moved = std::move(first);
  EXPECT_EQ(&moved.read(), place);
}

TEST(copy_on_write, others_read_their_copies_while_one_changes) {
  numbers changing;
  changing.write().assign(64, 0);
  for (int round = 1; round <= 200; ++round) {
    std::vector<std::jthread> readers;
    for (int i = 0; i < 3; ++i)
      readers.emplace_back([mine = changing, round] {
        for (const auto number : mine.read())
          EXPECT_EQ(number, round - 1);
      });
    for (auto& number : changing.write())
      number = round;
  }
}

} // namespace

} // namespace reprieve
