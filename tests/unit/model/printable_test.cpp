#include "state/text/printable.hpp"

#include <gtest/gtest.h>

namespace reprieve {

namespace {

TEST(printable, has_no_control_characters_and_no_line_ends) {
  EXPECT_EQ(printable("name"), "name");
  EXPECT_EQ(printable("a\n\x1b[31mb\x7f\t"), "a??[31mb??");
  EXPECT_EQ(printable("a\xc2\x9b"
                      "b\u00e9"),
            "a?b\u00e9");
  EXPECT_EQ(printable(std::string_view("\0x", 2)), "?x");
}

TEST(printable, has_nothing_that_turns_the_direction_of_what_follows) {
  EXPECT_EQ(printable("a\u202egnp.exe\u2066\u061c\u200f"), "a?gnp.exe???");
  EXPECT_EQ(printable("a\u2029\u202f\u2065"), "a\u2029\u202f\u2065");
  EXPECT_EQ(printable("a\xe2\x80"), "a\xe2\x80");
}

TEST(printable, is_cut_between_characters) {
  EXPECT_EQ(printable("abcdef", 3), "abc…");
  EXPECT_EQ(printable("abc", 3), "abc");
  EXPECT_EQ(printable("ab\u00e9\u00e9", 3), "ab\u00e9…");
}

} // namespace

} // namespace reprieve
