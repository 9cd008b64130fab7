#include "apps/cli/object_words.hpp"

#include "state/quantities/quantity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace reprieve::cli {

absl::StatusOr<object_kind> kind_named(const std::string& text) {
  if (const auto kind = kind_from(text))
    return *kind;
  return absl::InvalidArgumentError(
    fmt::format("'{}' is no kind of object; give node, queue, priorityclass, resourcegroup, "
                "workload, placement, disruptionbudget or pod",
                text));
}

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

std::string event_line(const event& e) {
  return fmt::format("{}  {:<12} {}/{}  {}\n", format_time(e.at), e.type, lower(e.kind), e.name,
                     e.message);
}

} // namespace reprieve::cli
