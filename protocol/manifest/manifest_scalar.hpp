#pragma once

#include "protocol/manifest/manifest_tree.hpp"
#include "state/quantities/time.hpp"

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace reprieve {

/// Single values out of a manifest. Errors say what is wrong and what would be right; the reader
/// adds where. A number or bool in quotes is text, and a bare one never is.
absl::Status scalar_from(const manifest_tree& from, bool& into);
absl::Status scalar_from(const manifest_tree& from, std::int32_t& into);
absl::Status scalar_from(const manifest_tree& from, std::int64_t& into);
absl::Status scalar_from(const manifest_tree& from, std::uint32_t& into);
absl::Status scalar_from(const manifest_tree& from, std::string& into);
absl::Status scalar_from(const manifest_tree& from, duration& into);
absl::Status scalar_from(const manifest_tree& from, time_point& into);

/// An amount of `resource`, with or without quotes.
absl::Status amount_from(const manifest_tree& from, std::string_view resource, std::int64_t& into);

/// The position of the value among `words`.
absl::StatusOr<std::size_t> word_from(const manifest_tree& from,
                                      std::span<const std::string_view> words);
absl::StatusOr<std::size_t> word_from(std::string_view word,
                                      std::span<const std::string_view> words);

} // namespace reprieve
