#include "state/text/utf8.hpp"

namespace reprieve {

std::size_t utf8_character_length(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  const auto follows = [&](std::size_t i, unsigned low = 0x80, unsigned high = 0xBF) {
    return byte(i) >= low && byte(i) <= high;
  };
  const unsigned lead = byte(0);
  if (text.empty())
    return 0;
  if (lead < 0x80)
    return 1;
  if (lead >= 0xC2 && lead <= 0xDF && follows(1))
    return 2;
  // The narrower ranges keep out overlong forms, surrogates, and what lies above U+10FFFF.
  if (lead >= 0xE0 && lead <= 0xEF
      && follows(1, lead == 0xE0 ? 0xA0 : 0x80, lead == 0xED ? 0x9F : 0xBF) && follows(2))
    return 3;
  if (lead >= 0xF0 && lead <= 0xF4
      && follows(1, lead == 0xF0 ? 0x90 : 0x80, lead == 0xF4 ? 0x8F : 0xBF) && follows(2)
      && follows(3))
    return 4;
  return 0;
}

} // namespace reprieve
