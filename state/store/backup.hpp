#pragma once

#include "state/store/store.hpp"

#include <absl/status/status.h>
#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace reprieve {

/// What a backup says of itself.
struct backup_header {
  std::int32_t schema = 0; ///< version of the records
  std::string cluster;     ///< id of the one that it was taken of
  time_point taken = no_time;
  revision at = 0; ///< of the store: all records are as they were then

  bool operator==(const backup_header&) const = default;
};

/// A key and its bytes.
struct backup_record {
  std::string key;
  std::string value;

  bool operator==(const backup_record&) const = default;
};

/// A part of a backup, as the store is read page by page.
struct backup_page_request {
  revision at = 0;   ///< of the pages before; 0 for the first page, which chooses it
  std::string after; ///< the last key of the page before
};

struct backup_page {
  backup_header about; ///< but for the time
  std::vector<backup_record> records;
  std::string last; ///< the next page begins after this key
  bool more = false;
};

/// Takes a backup as it comes; an error ends it.
class backup_sink {
public:
  virtual ~backup_sink() = default;

  /// Before all records.
  virtual absl::Status begin(const backup_header& about) = 0;

  /// In the order of their keys.
  virtual absl::Status add(const backup_record& next) = 0;
};

/// Why a store that holds `key` but no schema is of no use.
inline absl::Status half_restored(std::string_view key) {
  return absl::FailedPreconditionError(
    fmt::format("the store has records (such as {}) but no meta/schema: a restore into it did not "
                "come to its end, or something else writes there; empty it, then restore again",
                key));
}

} // namespace reprieve
