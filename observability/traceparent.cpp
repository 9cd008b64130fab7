#include "observability/traceparent.hpp"

#include <fmt/format.h>

#include <cstddef>

namespace reprieve {

namespace {

constexpr std::size_t length_of_version_00 = 55;

bool is_hex(std::string_view text) {
  return text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool is_id(std::string_view text) {
  return is_hex(text) && text.find_first_not_of('0') != std::string_view::npos;
}

} // namespace

std::optional<traceparent_parts> parse_traceparent(std::string_view text) {
  if (text.size() < length_of_version_00 || text[2] != '-' || text[35] != '-' || text[52] != '-')
    return std::nullopt;
  const auto version = text.substr(0, 2);
  if (!is_hex(version) || version == "ff")
    return std::nullopt;
  if (text.size() > length_of_version_00 && (version == "00" || text[length_of_version_00] != '-'))
    return std::nullopt;
  const traceparent_parts parts{text.substr(3, 32), text.substr(36, 16), text.substr(53, 2)};
  if (!is_id(parts.trace_id) || !is_id(parts.span_id) || !is_hex(parts.flags))
    return std::nullopt;
  return parts;
}

std::string to_hex(std::span<const std::uint8_t> bytes) {
  return fmt::format("{:02x}", fmt::join(bytes, ""));
}

} // namespace reprieve
