#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace reprieve {

/// The one of `known` that `given` is most likely a slip of, or nothing where none is close.
std::optional<std::string_view> nearest_name(std::string_view given,
                                             std::span<const std::string_view> known);

} // namespace reprieve
