#include "state/containers/packed_text.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace reprieve {

namespace {

/// Symbol 0 fills up the last unit. The others are in order of their bytes, so that packed names
/// compare as the names do.
constexpr std::string_view symbols{"\0\0-.0123456789abcdefghijklmnopqrstuvwxyz", 40};
constexpr std::uint32_t base = symbols.size();
constexpr std::size_t per_unit = 3;
constexpr std::uint8_t filler = 0;
constexpr std::uint8_t not_packed = 0xff;

/// First units that no three symbols give: the text follows, two bytes to a unit, and ends with the
/// last unit or in its middle.
constexpr char16_t whole_mark = 0xfffe;
constexpr char16_t half_mark = 0xffff;
static_assert(base * base * base <= whole_mark);

constexpr auto symbol_of = [] {
  std::array<std::uint8_t, 256> table{};
  table.fill(not_packed);
  for (std::size_t s = filler + 1; s < symbols.size(); ++s)
    table[static_cast<unsigned char>(symbols[s])] = static_cast<std::uint8_t>(s);
  return table;
}();

std::uint8_t symbol(char c) {
  return symbol_of[static_cast<unsigned char>(c)];
}

bool is_marked(std::u16string_view packed) {
  return !packed.empty() && packed.front() >= whole_mark;
}

std::u16string pack_as_it_is(std::string_view text) {
  std::u16string packed(1 + (text.size() + 1) / 2, u'\0');
  packed.front() = text.size() % 2 == 0 ? whole_mark : half_mark;
  std::memcpy(packed.data() + 1, text.data(), text.size());
  return packed;
}

std::string unpack_as_it_is(std::u16string_view packed) {
  std::string text((packed.size() - 1) * 2 - (packed.front() == half_mark ? 1 : 0), '\0');
  std::memcpy(text.data(), packed.data() + 1, text.size());
  return text;
}

} // namespace

std::u16string pack(std::string_view text) {
  if (std::ranges::any_of(text, [](char c) { return symbol(c) == not_packed; }))
    return pack_as_it_is(text);
  std::u16string packed;
  packed.reserve((text.size() + per_unit - 1) / per_unit);
  for (std::size_t at = 0; at < text.size(); at += per_unit) {
    std::uint32_t unit = 0;
    for (std::size_t i = at; i < at + per_unit; ++i)
      unit = unit * base + (i < text.size() ? symbol(text[i]) : filler);
    packed.push_back(static_cast<char16_t>(unit));
  }
  return packed;
}

std::string unpack(std::u16string_view packed) {
  if (is_marked(packed))
    return unpack_as_it_is(packed);
  std::string text;
  text.reserve(packed.size() * per_unit);
  for (const std::uint32_t unit : packed)
    for (const auto s : {unit / base / base, unit / base % base, unit % base})
      if (s != filler)
        text.push_back(symbols[s]);
  return text;
}

std::strong_ordering order_of_texts(std::u16string_view a, std::u16string_view b) {
  if (is_marked(a) || is_marked(b))
    return unpack(a) <=> unpack(b);
  return a <=> b;
}

} // namespace reprieve
