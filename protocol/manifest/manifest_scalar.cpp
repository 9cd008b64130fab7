#include "protocol/manifest/manifest_scalar.hpp"

#include "state/quantities/quantity.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

namespace reprieve {

namespace {

template <class... Args>
absl::Status wrong(fmt::format_string<Args...> format, Args&&... args) {
  return absl::InvalidArgumentError(fmt::format(format, std::forward<Args>(args)...));
}

/// Refuses all but a scalar.
absl::Status check_scalar(const manifest_tree& from, std::string_view wanted) {
  switch (from.kind) {
  case manifest_tree::type::null:
    return wrong("has no value; give {} or leave the field out", wanted);
  case manifest_tree::type::list:
    return wrong("is a list; give {}", wanted);
  case manifest_tree::type::map:
    return wrong("is a map; give {}", wanted);
  default:
    return absl::OkStatus();
  }
}

/// Refuses all but a scalar without quotes.
absl::Status check_plain(const manifest_tree& from, std::string_view wanted) {
  if (auto status = check_scalar(from, wanted); !status.ok())
    return status;
  if (from.kind == manifest_tree::type::text)
    return wrong("'{:.60}' is text because of its quotes; give {} without quotes", from.scalar,
                 wanted);
  return absl::OkStatus();
}

/// `-?(0|[1-9][0-9]*)`: what no reader of YAML or JSON takes for anything else.
bool is_whole_number(std::string_view text) {
  if (text.starts_with('-'))
    text.remove_prefix(1);
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos
         && (text.front() != '0' || text.size() == 1);
}

template <class Integer>
absl::Status integer_from(const manifest_tree& from, Integer& into) {
  if (auto status = check_plain(from, "a whole number such as 4"); !status.ok())
    return status;
  const std::string_view text = from.scalar;
  if (!is_whole_number(text))
    return wrong("'{:.60}' is not a whole number; give one such as 4", text);
  if (std::from_chars(text.data(), text.data() + text.size(), into).ec != std::errc{})
    return wrong("'{:.60}' is out of range; give a number from {} to {}", text,
                 std::numeric_limits<Integer>::min(), std::numeric_limits<Integer>::max());
  return absl::OkStatus();
}

std::string choice_of(std::span<const std::string_view> words) {
  return fmt::format("{}{}", words.size() > 1 ? "one of " : "", fmt::join(words, ", "));
}

template <class T>
absl::Status assign(absl::StatusOr<T> parsed, T& into) {
  if (parsed.ok())
    into = *parsed;
  return parsed.status();
}

} // namespace

absl::Status scalar_from(const manifest_tree& from, bool& into) {
  if (auto status = check_plain(from, "true or false"); !status.ok())
    return status;
  if (from.scalar != "true" && from.scalar != "false")
    return wrong("'{:.60}' is not true or false", from.scalar);
  into = from.scalar == "true";
  return absl::OkStatus();
}

absl::Status scalar_from(const manifest_tree& from, std::int32_t& into) {
  return integer_from(from, into);
}

absl::Status scalar_from(const manifest_tree& from, std::int64_t& into) {
  return integer_from(from, into);
}

absl::Status scalar_from(const manifest_tree& from, std::uint32_t& into) {
  return integer_from(from, into);
}

absl::Status scalar_from(const manifest_tree& from, std::string& into) {
  if (auto status = check_scalar(from, "a text"); !status.ok())
    return status;
  if (from.kind == manifest_tree::type::plain && looks_like_another_type(from.scalar))
    return wrong("{:.60} is not a text; put it in quotes to make it one", from.scalar);
  into = from.scalar;
  return absl::OkStatus();
}

absl::Status scalar_from(const manifest_tree& from, duration& into) {
  if (auto status = check_scalar(from, "a duration such as 30s"); !status.ok())
    return status;
  return assign(parse_duration(from.scalar), into);
}

absl::Status scalar_from(const manifest_tree& from, time_point& into) {
  if (auto status = check_scalar(from, "a time such as 2026-01-31T08:00:00Z"); !status.ok())
    return status;
  return assign(parse_time(from.scalar), into);
}

absl::Status amount_from(const manifest_tree& from, std::string_view resource, std::int64_t& into) {
  if (auto status = check_scalar(from, "an amount such as 2, 500m or 16Gi"); !status.ok())
    return status;
  return assign(parse_quantity(from.scalar, resource), into);
}

absl::StatusOr<std::size_t> word_from(const manifest_tree& from,
                                      std::span<const std::string_view> words) {
  if (auto status = check_scalar(from, choice_of(words)); !status.ok())
    return status;
  return word_from(from.scalar, words);
}

absl::StatusOr<std::size_t> word_from(std::string_view word,
                                      std::span<const std::string_view> words) {
  const auto found = std::find(words.begin(), words.end(), word);
  if (found == words.end())
    return wrong("'{:.60}' is not known here; give {}", word, choice_of(words));
  return static_cast<std::size_t>(found - words.begin());
}

} // namespace reprieve
