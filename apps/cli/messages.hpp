#pragma once

#include "state/quantities/quantity.hpp"

#include <absl/status/status.h>

#include <string>
#include <string_view>

/// What is said to people beside the answer.
namespace reprieve::cli {

/// What a server sends may quote what anybody wrote, and be of an earlier version that leaves it as
/// it is.
std::string for_terminal(std::string_view sentence);

/// Says what is wrong; the exit code.
int fail(int code, std::string_view message);
int fail(int code, const absl::Status& why);
/// What the server refused because it was asked wrongly is bad input, too.
int fail(const absl::Status& why);

/// That an answer may not be the newest, where that is so, and what it lacks.
void tell_age(duration age, const std::string& missing = {});

} // namespace reprieve::cli
