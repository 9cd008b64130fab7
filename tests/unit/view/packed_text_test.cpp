#include "state/containers/packed_text.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <string>
#include <string_view>

namespace reprieve {
namespace {

using namespace std::literals;

/// Mostly the characters of names, so that both ways of packing are met.
std::string any_text() {
  const auto character = *rc::gen::arbitrary<bool>() ? rc::gen::elementOf("-.09afz\0"s)
                                                     : rc::gen::elementOf("-./09AZ_az\0\x7f\xff"s);
  return *rc::gen::container<std::string>(character);
}

TEST(packed_text, has_three_characters_of_a_name_in_two_bytes) {
  EXPECT_EQ(pack("").size(), 0U);
  EXPECT_EQ(pack("a").size(), 1U);
  EXPECT_EQ(pack("a-1").size(), 1U);
  EXPECT_EQ(pack("a-1.").size(), 2U);
  EXPECT_EQ(pack("0b9e6f3a-7c1d-4e2f-8a5b-6c7d8e9f0a1b").size(), 12U);
  EXPECT_EQ(pack("job\0workers"sv).size(), 4U);
}

TEST(packed_text, has_other_characters_as_they_are_behind_a_mark) {
  EXPECT_EQ(pack("Ab").size(), 2U);
  EXPECT_EQ(pack("A/b").size(), 3U);
}

TEST(packed_text, is_the_text_again_when_it_is_unpacked) {
  ASSERT_TRUE(rc::check([] {
    const auto text = any_text();
    RC_ASSERT(unpack(pack(text)) == text);
  }));
}

TEST(packed_text, has_the_order_of_the_texts) {
  ASSERT_TRUE(rc::check([] {
    const auto a = any_text();
    const auto b = any_text();
    RC_ASSERT(order_of_texts(pack(a), pack(b)) == (a <=> b));
    RC_ASSERT((pack(a) == pack(b)) == (a == b));
  }));
}

} // namespace
} // namespace reprieve
