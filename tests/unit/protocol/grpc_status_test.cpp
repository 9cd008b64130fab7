#include "protocol/transport/grpc_status.hpp"

#include <gtest/gtest.h>

#include <string>

namespace reprieve {

namespace {

TEST(presentable, leaves_what_people_can_read) {
  const std::string sentence = "there is no node 'größe…'; 100 % of them are others";
  EXPECT_EQ(presentable(sentence), sentence);
  EXPECT_EQ(presentable(""), "");
}

TEST(presentable, shows_a_terminal_nothing_that_it_would_obey) {
  EXPECT_EQ(presentable("a\x1b[2Jb\tc\x7f"), "a?[2Jb?c?");
  EXPECT_EQ(presentable("there is no j1\nreprieve: all is well\r"),
            "there is no j1?reprieve: all is well?");
  EXPECT_EQ(presentable("a\xC2\x9B"
                        "2J\xC2\xA0z"),
            "a?2J\xC2\xA0z");
  EXPECT_EQ(presentable("half a character: \xE2\x82"), "half a character: ??");
}

TEST(presentable, is_short_enough_for_a_trailer) {
  EXPECT_LT(presentable(std::string(4 << 20, 'x')).size(), 8U << 10U);
  std::string wide;
  for (int i = 0; i < 1'000'000; ++i)
    wide += "%ü";
  const auto shown = presentable(wide);
  EXPECT_LT(3 * shown.size(), 8U << 10U);
  EXPECT_TRUE(shown.ends_with("…"));
}

} // namespace

} // namespace reprieve
