#include "protocol/access/caller_file.hpp"

#include "protocol/access/certificates.hpp"
#include "state/quantities/quantity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace reprieve {

namespace {

constexpr std::size_t shortest_token = 16;
/// Some editors begin a text with it.
constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

/// The parts of the text between the separators, without empty ones.
std::vector<std::string> split(std::string_view text, std::string_view separators) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const auto end = std::min(text.find_first_of(separators), text.size());
    if (end > 0)
      parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

/// What one line says, before it is clear that it says enough.
struct caller_line {
  caller_file::entry entry;
  std::string digest;
  bool by_certificate = false;
};

bool is_digest(std::string_view text) {
  return text.size() == 64 && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

/// A word after name and role.
absl::Status take_word(std::string_view word, caller_line& line) {
  const auto value = word.substr(std::min(word.find('=') + 1, word.size()));
  if (word == "certificate") {
    line.by_certificate = true;
  } else if (word.starts_with("queues=")) {
    line.entry.who.queues = split(value, ",");
  } else if (word.starts_with("until=")) {
    const auto until = parse_time(value);
    if (!until.ok())
      return absl::InvalidArgumentError("until: " + std::string(until.status().message()));
    line.entry.until = *until;
  } else if (word.starts_with("sha256=")) {
    if (!is_digest(value))
      return absl::InvalidArgumentError("what follows sha256= must be 64 lower-case hex digits");
    line.digest = value;
  } else if (word.starts_with("token=")) {
    if (value.size() < shortest_token)
      return absl::InvalidArgumentError(
        fmt::format("the token is short; it must have {} characters or more", shortest_token));
    line.digest = sha256_hex(value);
  } else {
    // The word is not repeated: it may be a token where something else belongs.
    return absl::InvalidArgumentError(
      "a word is not known; after name and role come queues=, until=, and one of sha256=, token= "
      "and certificate");
  }
  return absl::OkStatus();
}

absl::Status check_line(const caller_line& line) {
  const bool submits = line.entry.who.role == caller_role::submitter;
  if (line.digest.empty() != line.by_certificate)
    return absl::InvalidArgumentError(
      "say how the caller is known: by one of sha256=, token= and certificate");
  if (submits && line.entry.who.queues.empty())
    return absl::InvalidArgumentError("a submitter needs queues=, with names or * for every queue");
  if (!submits && !line.entry.who.queues.empty())
    return absl::InvalidArgumentError("queues= is for submitters only");
  return absl::OkStatus();
}

absl::StatusOr<caller_line> parse_line(const std::vector<std::string>& words) {
  caller_line line;
  line.entry.who.name = words[0];
  const auto role = words.size() < 2 ? std::nullopt : role_from(words[1]);
  if (!role)
    return absl::InvalidArgumentError(
      "after the name comes the role: admin, operator, submitter, viewer or none");
  line.entry.who.role = *role;
  for (std::size_t i = 2; i < words.size(); ++i)
    if (auto taken = take_word(words[i], line); !taken.ok())
      return taken;
  if (auto whole = check_line(line); !whole.ok())
    return whole;
  return line;
}

template <class Entries>
const caller_file::entry* find_entry(const Entries& entries, std::string_view key) {
  const auto found = entries.find(key);
  return found == entries.end() ? nullptr : &found->second;
}

} // namespace

absl::Status caller_file::take_line(std::string_view text) {
  const auto words = split(text.substr(0, text.find('#')), " \t\r");
  if (words.empty())
    return absl::OkStatus();
  auto line = parse_line(words);
  if (!line.ok())
    return line.status();
  auto& entries = line->by_certificate ? by_common_name_ : by_digest_;
  const auto key = line->by_certificate ? line->entry.who.name : line->digest;
  if (!entries.emplace(key, std::move(line->entry)).second)
    return absl::InvalidArgumentError(line->by_certificate
                                        ? "an earlier line is about the same certificate"
                                        : "an earlier line has the same token");
  return absl::OkStatus();
}

absl::StatusOr<caller_file> caller_file::parse(std::string_view text) {
  caller_file callers;
  int number = 0;
  if (text.starts_with(byte_order_mark))
    text.remove_prefix(byte_order_mark.size());
  while (!text.empty()) {
    ++number;
    const auto end = std::min(text.find('\n'), text.size());
    if (auto taken = callers.take_line(text.substr(0, end)); !taken.ok())
      return absl::InvalidArgumentError(
        fmt::format("line {}: {}", number, std::string(taken.message())));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  if (callers.by_digest_.empty() && callers.by_common_name_.empty())
    return absl::InvalidArgumentError(
      "names no caller; give each a line with name, role and one of sha256=, token= and "
      "certificate");
  return callers;
}

time_point caller_file::next_end(time_point now) const {
  auto next = no_time;
  for (const auto* entries : {&by_digest_, &by_common_name_})
    for (const auto& [key, one] : *entries)
      if (one.until != no_time && one.until >= now && (next == no_time || one.until < next))
        next = one.until;
  return next;
}

const caller_file::entry* caller_file::by_token(std::string_view token) const {
  return find_entry(by_digest_, sha256_hex(token));
}

const caller_file::entry* caller_file::by_certificate(std::string_view common_name) const {
  return find_entry(by_common_name_, common_name);
}

} // namespace reprieve
