#pragma once

#include <cstddef>
#include <string_view>

namespace reprieve {

/// The bytes of the character that `text` begins with, 0 where it is not valid UTF-8.
std::size_t utf8_character_length(std::string_view text);

/// ASCII control characters, line breaks and tabs among them.
constexpr bool is_control(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
}

} // namespace reprieve
