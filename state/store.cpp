#include "state/store.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace reprieve {

namespace {

struct touched_range {
  std::string_view begin;
  std::string_view end; ///< empty: the one key `begin`
};

/// Whether two touched ranges share a key; `a.begin <= b.begin`.
bool overlap(const touched_range& a, const touched_range& b) {
  return a.end.empty() ? a.begin == b.begin : b.begin < a.end;
}

} // namespace

key_range with_prefix(std::string prefix) {
  std::string end = prefix;
  while (!end.empty() && static_cast<unsigned char>(end.back()) == 0xff)
    end.pop_back();
  if (!end.empty())
    end.back() = static_cast<char>(static_cast<unsigned char>(end.back()) + 1);
  return {std::move(prefix), std::move(end)};
}

absl::Status check_limits(const transaction& writes) {
  if (writes.operations.size() > store_limits::operations)
    return absl::InvalidArgumentError(
        fmt::format("a transaction takes at most {} operations, this one has {}",
                    store_limits::operations, writes.operations.size()));
  if (writes.comparisons.size() > store_limits::comparisons)
    return absl::InvalidArgumentError(
        fmt::format("a transaction takes at most {} comparisons, this one has {}",
                    store_limits::comparisons, writes.comparisons.size()));
  std::size_t bytes = 0;
  std::vector<touched_range> touched;
  touched.reserve(writes.operations.size());
  for (const auto& one : writes.operations) {
    if (const auto* written = std::get_if<put>(&one)) {
      bytes += written->key.size() + written->value.size();
      touched.push_back({written->key, {}});
    } else {
      const auto& range = std::get<erase>(one).range;
      bytes += range.begin.size() + range.end.size();
      touched.push_back({range.begin, range.end});
    }
  }
  if (bytes > store_limits::bytes)
    return absl::InvalidArgumentError(fmt::format(
        "a transaction takes at most {} bytes, this one has {}", store_limits::bytes, bytes));
  std::sort(touched.begin(), touched.end(),
            [](const auto& a, const auto& b) { return a.begin < b.begin; });
  for (std::size_t i = 1; i < touched.size(); ++i)
    if (overlap(touched[i - 1], touched[i]))
      return absl::InvalidArgumentError(
          fmt::format("a transaction touches key '{}' twice", touched[i].begin));
  return absl::OkStatus();
}

} // namespace reprieve
