#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace reprieve {

/// The parts of a W3C `traceparent`, as views into its text; all are lower-case hex digits.
struct traceparent_parts {
  std::string_view trace_id; ///< 32 digits, not all zero
  std::string_view span_id;  ///< 16 digits, not all zero
  std::string_view flags;    ///< 2 digits
};

/// Nothing where `text` is not a `traceparent`. Later versions of the format are read as far as
/// this one knows them, as the recommendation asks.
std::optional<traceparent_parts> parse_traceparent(std::string_view text);

/// An id's bytes as the lower-case digits that trace contexts are written in.
std::string to_hex(std::span<const std::uint8_t> bytes);

} // namespace reprieve
