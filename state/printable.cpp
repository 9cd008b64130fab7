#include "state/printable.hpp"

namespace reprieve {

std::string printable(std::string_view text, std::size_t most) {
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  std::string shown;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool begins_character = (byte(at) & 0xc0U) != 0x80U;
    if (shown.size() >= most && begins_character)
      return shown + "…";
    // Those of Unicode beside ASCII's stand between U+0080 and U+009F.
    if (byte(at) == 0xc2U && at + 1 < text.size() && byte(at + 1) >= 0x80U
        && byte(at + 1) < 0xa0U) {
      shown += '?';
      ++at;
    } else {
      shown += byte(at) < 0x20U || byte(at) == 0x7fU ? '?' : text[at];
    }
  }
  return shown;
}

} // namespace reprieve
