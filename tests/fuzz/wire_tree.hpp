#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace reprieve {

/// A Protobuf message as its fields, without knowing what message it is.
struct wire_field {
  static constexpr std::uint32_t varint = 0;
  static constexpr std::uint32_t fixed_64 = 1;
  static constexpr std::uint32_t with_length = 2;
  static constexpr std::uint32_t fixed_32 = 5;

  std::uint32_t number = 0;
  std::uint32_t type = varint;
  std::uint64_t value = 0;              ///< of a number
  std::string bytes;                    ///< of one with a length that is no message
  std::vector<wire_field> parts;        ///< of one that looks like a message
  std::optional<std::uint64_t> claimed; ///< a length that is written in place of its own
};

/// The fields, or nothing where the bytes are no message.
std::optional<std::vector<wire_field>> read_wire(std::string_view bytes, int depth = 8);
std::string write_wire(const std::vector<wire_field>& fields);

/// All fields, at any depth.
std::vector<wire_field*> all_fields(std::vector<wire_field>& fields);

} // namespace reprieve
