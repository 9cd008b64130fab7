#pragma once

#include "protocol/manifest/manifest_tree.hpp"

#include <absl/status/status.h>

#include <cstddef>
#include <functional>
#include <string_view>

namespace reprieve {

/// Most bytes in one manifest file, most levels of nesting, and most values in one document.
inline constexpr std::size_t largest_manifest = 64U << 20U;
inline constexpr std::size_t largest_snapshot = 1U << 30U; ///< of a file that may hold a snapshot
inline constexpr std::size_t deepest_manifest = 64;
inline constexpr std::size_t most_manifest_values = 4'000'000;

/// One error line, `file:line: message`, with what does not print replaced.
absl::Status manifest_error(std::string_view file_name, int line, std::string_view message);

/// Calls `each` with every document of `text` that is not empty, YAML or JSON, until one call
/// fails. Refuses what is not UTF-8, breaks a limit, or uses anchors, aliases, tags or a key
/// twice.
absl::Status parse_manifest(std::string_view text, std::string_view file_name,
                            const std::function<absl::Status(const manifest_tree&)>& each,
                            std::size_t most = largest_manifest);

} // namespace reprieve
