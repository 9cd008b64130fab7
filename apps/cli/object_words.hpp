#pragma once

#include "state/model/requests.hpp"

#include <absl/status/statusor.h>

#include <string>
#include <string_view>

/// How objects and events are called on the command line.
namespace reprieve::cli {

/// The kind that the word means, or which words there are.
absl::StatusOr<object_kind> kind_named(const std::string& text);

std::string lower(std::string_view text);

/// A line that tells an event.
std::string event_line(const event& e);

} // namespace reprieve::cli
