#include "state/store/store.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace reprieve {

namespace {

/// A range without a copy of its keys.
struct range_view {
  std::string_view begin;
  std::string_view end;
};

bool before_end(const range_view& range, std::string_view key) {
  if (range.end.empty())
    return key <= range.begin;
  return range.end == no_end || key < range.end;
}

absl::Status check_key(std::string_view key) {
  if (key.empty())
    return absl::InvalidArgumentError("a key must not be empty");
  return absl::OkStatus();
}

absl::Status check_range(const range_view& range) {
  if (range.end.empty())
    return check_key(range.begin);
  if (range.end != no_end && range.end <= range.begin)
    return absl::InvalidArgumentError(
      fmt::format("the range from '{}' to '{}' is empty: its end must sort after its begin",
                  range.begin, range.end));
  return absl::OkStatus();
}

absl::Status too_many(std::string_view what, std::size_t limit, std::size_t given) {
  return absl::InvalidArgumentError(
    fmt::format("a transaction takes at most {} {}, this one has {}", limit, what, given));
}

} // namespace

bool before_end(const key_range& range, std::string_view key) {
  return before_end(range_view{range.begin, range.end}, key);
}

key_range with_prefix(std::string prefix) {
  std::string end = prefix;
  while (!end.empty() && static_cast<unsigned char>(end.back()) == 0xff)
    end.pop_back();
  if (end.empty())
    end = no_end;
  else
    end.back() = static_cast<char>(static_cast<unsigned char>(end.back()) + 1);
  return {std::move(prefix), std::move(end)};
}

bool holds(const comparison& wanted, const key_value& found) {
  switch (wanted.field) {
  case compared::created:
    return found.created == wanted.to;
  case compared::modified:
    return found.modified == wanted.to;
  case compared::version:
    return found.version == wanted.to;
  }
  return false;
}

absl::Status check_limits(const key_range& range) {
  return check_range({range.begin, range.end});
}

absl::Status check_limits(const range_request& request) {
  if (request.limit < 0 || request.at < 0)
    return absl::InvalidArgumentError(fmt::format(
      "a limit and a revision must be 0 or more, not {} and {}", request.limit, request.at));
  return check_limits(request.range);
}

absl::Status check_limits(const transaction& writes) {
  if (writes.operations.size() > store_limits::operations)
    return too_many("operations", store_limits::operations, writes.operations.size());
  if (writes.comparisons.size() > store_limits::comparisons)
    return too_many("comparisons", store_limits::comparisons, writes.comparisons.size());
  std::size_t bytes = 0;
  for (const auto& one : writes.comparisons) {
    if (auto checked = check_key(one.key); !checked.ok())
      return checked;
    bytes += one.key.size();
  }
  std::vector<range_view> touched;
  touched.reserve(writes.operations.size());
  for (const auto& one : writes.operations) {
    const auto* written = std::get_if<put>(&one);
    if (const auto* erased = std::get_if<erase>(&one))
      touched.push_back({erased->range.begin, erased->range.end});
    else
      touched.push_back({written->key, {}});
    if (auto checked = check_range(touched.back()); !checked.ok())
      return checked;
    bytes += touched.back().begin.size() + touched.back().end.size();
    bytes += written ? written->value.size() : 0;
  }
  if (bytes > store_limits::bytes)
    return too_many("bytes", store_limits::bytes, bytes);
  std::sort(touched.begin(), touched.end(),
            [](const auto& a, const auto& b) { return a.begin < b.begin; });
  for (std::size_t i = 1; i < touched.size(); ++i)
    if (before_end(touched[i - 1], touched[i].begin))
      return absl::InvalidArgumentError(
        fmt::format("a transaction touches key '{}' twice", touched[i].begin));
  return absl::OkStatus();
}

} // namespace reprieve
