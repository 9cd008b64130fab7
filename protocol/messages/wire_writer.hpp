#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace reprieve {

/// Writes the fields of a message as they stand on the wire, for the few that are written so often
/// that it shows. What equals its default is left out, as the language asks.
class wire_writer {
public:
  explicit wire_writer(std::string& to) : to_(to) {}

  void text(std::uint32_t field, std::string_view value) {
    if (!value.empty())
      bytes(field, value);
  }

  /// A text, or a message given as its bytes; empty ones too.
  void bytes(std::uint32_t field, std::string_view value) {
    number(field << 3U | length_delimited);
    number(value.size());
    to_.append(value);
  }

  /// An integer, a bool or an enum; negative ones take ten bytes.
  void integer(std::uint32_t field, std::int64_t value) {
    if (value != 0)
      any_integer(field, value);
  }

  /// Likewise of an optional field that is there, whatever it is.
  void any_integer(std::uint32_t field, std::int64_t value) {
    number(field << 3U | varint);
    number(static_cast<std::uint64_t>(value));
  }

  template <class Map>
  void map(std::uint32_t field, const Map& entries) {
    for (const auto& [key, value] : entries) {
      entry_.clear();
      wire_writer entry{entry_};
      entry.bytes(1, key);
      entry.map_value(value);
      bytes(field, entry_);
    }
  }

private:
  static constexpr std::uint32_t varint = 0;
  static constexpr std::uint32_t length_delimited = 2;

  void map_value(std::int64_t value) {
    any_integer(2, value);
  }
  void map_value(std::string_view value) {
    bytes(2, value);
  }

  void number(std::uint64_t value) {
    for (; value >= 0x80U; value >>= 7U)
      to_.push_back(static_cast<char>((value & 0x7FU) | 0x80U));
    to_.push_back(static_cast<char>(value));
  }

  std::string& to_;
  std::string entry_; ///< of a map, kept for the next
};

} // namespace reprieve
