#include "tests/fuzz/wire_tree.hpp"

namespace reprieve {

namespace {

constexpr std::uint32_t type_bits = 3;
constexpr std::uint32_t largest_number = 200; ///< of a field; ours are smaller

std::optional<std::uint64_t> take_varint(std::string_view& from) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && !from.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(from.front());
    from.remove_prefix(1);
    value |= std::uint64_t{byte & 0x7fU} << shift;
    if (byte < 0x80U)
      return value;
  }
  return std::nullopt;
}

void put_varint(std::uint64_t value, std::string& to) {
  for (; value >= 0x80U; value >>= 7)
    to += static_cast<char>((value & 0x7fU) | 0x80U);
  to += static_cast<char>(value);
}

bool take_fixed(std::string_view& from, std::size_t size, std::uint64_t& value) {
  if (from.size() < size)
    return false;
  for (std::size_t i = 0; i < size; ++i)
    value |= std::uint64_t{static_cast<unsigned char>(from[i])} << (8 * i);
  from.remove_prefix(size);
  return true;
}

void put_fixed(std::uint64_t value, std::size_t size, std::string& to) {
  for (std::size_t i = 0; i < size; ++i)
    to += static_cast<char>(value >> (8 * i));
}

} // namespace

std::optional<std::vector<wire_field>> read_wire(std::string_view bytes, int depth) {
  std::vector<wire_field> fields;
  while (!bytes.empty()) {
    const auto tag = take_varint(bytes);
    if (!tag || *tag >> type_bits == 0 || *tag >> type_bits > largest_number)
      return std::nullopt;
    auto& field = fields.emplace_back();
    field.number = static_cast<std::uint32_t>(*tag >> type_bits);
    field.type = static_cast<std::uint32_t>(*tag) & ((1U << type_bits) - 1);
    if (field.type == wire_field::varint) {
      const auto value = take_varint(bytes);
      if (!value)
        return std::nullopt;
      field.value = *value;
    } else if (field.type == wire_field::fixed_64 || field.type == wire_field::fixed_32) {
      if (!take_fixed(bytes, field.type == wire_field::fixed_64 ? 8 : 4, field.value))
        return std::nullopt;
    } else if (field.type == wire_field::with_length) {
      const auto length = take_varint(bytes);
      if (!length || *length > bytes.size())
        return std::nullopt;
      field.bytes = bytes.substr(0, *length);
      bytes.remove_prefix(*length);
      if (depth > 0 && !field.bytes.empty())
        if (auto parts = read_wire(field.bytes, depth - 1))
          field.parts = *std::move(parts);
    } else {
      return std::nullopt;
    }
  }
  return fields;
}

std::string write_wire(const std::vector<wire_field>& fields) {
  std::string to;
  for (const auto& field : fields) {
    put_varint((std::uint64_t{field.number} << type_bits) | field.type, to);
    if (field.type == wire_field::fixed_64) {
      put_fixed(field.value, 8, to);
    } else if (field.type == wire_field::fixed_32) {
      put_fixed(field.value, 4, to);
    } else if (field.type == wire_field::with_length) {
      const auto bytes = field.parts.empty() ? field.bytes : write_wire(field.parts);
      put_varint(field.claimed.value_or(bytes.size()), to);
      to += bytes;
    } else {
      put_varint(field.value, to);
    }
  }
  return to;
}

std::vector<wire_field*> all_fields(std::vector<wire_field>& fields) {
  std::vector<wire_field*> found;
  for (auto& field : fields) {
    found.push_back(&field);
    const auto below = all_fields(field.parts);
    found.insert(found.end(), below.begin(), below.end());
  }
  return found;
}

} // namespace reprieve
