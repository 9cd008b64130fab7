#pragma once

#include "protocol/backup/backup_format.hpp"

#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace reprieve {

/// A backup in memory, as it came out of its bytes.
struct read_backup {
  backup_header about;
  std::vector<backup_record> records;

  bool operator==(const read_backup&) const = default;
};

inline backup_header some_header() {
  return {1, "18b2f6a1c0d4", time_point{std::chrono::seconds{1'794'000'000}}, 4711};
}

/// The bytes of a backup with these records, which must be in order.
inline std::string backup_bytes(const std::vector<backup_record>& records,
                                const backup_header& about = some_header()) {
  backup_encoder encoder;
  auto bytes = encoder.begin(about).value();
  const auto first_size = bytes.size();
  for (const auto& one : records)
    bytes += encoder.add(one).value();
  const auto end = encoder.finish();
  if (end.first.size() != first_size)
    throw std::logic_error("the first lines have changed their length");
  return end.first + bytes.substr(first_size) + end.last;
}

inline absl::StatusOr<read_backup> read_bytes(const std::string& bytes) {
  std::istringstream in(bytes);
  backup_decoder decoder(in);
  const auto about = decoder.begin();
  if (!about.ok())
    return about.status();
  read_backup result{*about, {}};
  for (;;) {
    auto next = decoder.next();
    if (!next.ok())
      return next.status();
    if (!*next)
      return result;
    result.records.push_back(*std::move(*next));
  }
}

} // namespace reprieve
