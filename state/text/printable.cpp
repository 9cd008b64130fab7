#include "state/text/printable.hpp"

namespace reprieve {

std::string printable(std::string_view text, std::size_t most) {
  const auto byte = [&](std::size_t at) {
    return at < text.size() ? static_cast<unsigned char>(text[at]) : 0U;
  };
  // Those that turn the direction of what follows, so that it reads as something else: U+061C,
  // U+200E and 200F, U+202A to 202E, U+2066 to 2069.
  const auto turns_direction = [&](std::size_t at) -> std::size_t {
    if (byte(at) == 0xd8U && byte(at + 1) == 0x9cU)
      return 2;
    const auto last = byte(at + 2);
    const bool turns = byte(at) == 0xe2U
                       && ((byte(at + 1) == 0x80U
                            && (last == 0x8eU || last == 0x8fU || (last >= 0xaaU && last <= 0xaeU)))
                           || (byte(at + 1) == 0x81U && last >= 0xa6U && last <= 0xa9U));
    return turns ? 3 : 0;
  };
  std::string shown;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool begins_character = (byte(at) & 0xc0U) != 0x80U;
    if (shown.size() >= most && begins_character)
      return shown + "…";
    // Those of Unicode beside ASCII's stand between U+0080 and U+009F.
    if (byte(at) == 0xc2U && byte(at + 1) >= 0x80U && byte(at + 1) < 0xa0U) {
      shown += '?';
      ++at;
    } else if (const auto bytes = turns_direction(at); bytes > 0) {
      shown += '?';
      at += bytes - 1;
    } else {
      shown += byte(at) < 0x20U || byte(at) == 0x7fU ? '?' : text[at];
    }
  }
  return shown;
}

} // namespace reprieve
