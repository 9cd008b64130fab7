#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

namespace reprieve {

/// Workload and group as one text: the length of the first, then both.
inline std::string series_name(std::string_view workload, std::string_view group) {
  const auto length = static_cast<std::uint32_t>(workload.size());
  std::string text(sizeof(length), '\0');
  std::memcpy(text.data(), &length, sizeof(length));
  return text.append(workload).append(group);
}

/// Workload and group again; pairs compare as ids do.
inline std::pair<std::string_view, std::string_view> split_series(std::string_view text) {
  std::uint32_t length = 0;
  std::memcpy(&length, text.data(), sizeof(length));
  text.remove_prefix(sizeof(length));
  return {text.substr(0, length), text.substr(length)};
}

} // namespace reprieve
