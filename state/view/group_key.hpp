#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace reprieve {

/// Workload and group as one text with a NUL between them, which no name has: below every
/// character of a name, so that these texts are in the order of the pairs.
inline std::string group_key(std::string_view workload, std::string_view group) {
  std::string text;
  text.reserve(workload.size() + 1 + group.size());
  return text.append(workload).append(1, '\0').append(group);
}

/// Workload and group again.
inline std::pair<std::string_view, std::string_view> split_group_key(std::string_view text) {
  const auto end = text.find('\0');
  return {text.substr(0, end), text.substr(end + 1)};
}

} // namespace reprieve
