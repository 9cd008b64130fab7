#pragma once

#include "state/quantities/time.hpp"

#include <absl/status/statusor.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace reprieve {

/// The amount of `resource` that `text` stands for: `2`, `500m`, `1.5`, `16Gi`, `2k`, `1e3`. In
/// thousandths for cpu and gpu, in whole units for the rest. Anything that is not such a number,
/// is negative, has more precision than is counted, or leaves 64 bits is refused with a sentence.
absl::StatusOr<std::int64_t> parse_quantity(std::string_view text, std::string_view resource);

/// The shortest text that parses to the same amount: `500m`, `16Gi`, `8`.
std::string format_quantity(std::int64_t amount, std::string_view resource);

/// `300ms`, `30s`, `5m`, `1h30m`; a bare number counts seconds. Never negative.
absl::StatusOr<duration> parse_duration(std::string_view text);

std::string format_duration(duration d);

/// RFC 3339 in UTC, such as `2026-01-31T08:00:00Z`, with an optional fraction and offset.
absl::StatusOr<time_point> parse_time(std::string_view text);

/// With as many fraction digits as are needed, none for whole seconds; empty for `no_time`.
std::string format_time(time_point t);

} // namespace reprieve
