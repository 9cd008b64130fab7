#pragma once

#include "state/store/backup.hpp"
#include "state/store/store.hpp"

#include <absl/status/statusor.h>

#include <chrono>
#include <cstdint>
#include <istream>
#include <string>

namespace reprieve {

/// A backup that was found to be whole, and that this program can restore.
struct checked_backup {
  backup_header about;
  std::int64_t count = 0;
};

/// Reads the whole backup, and says what is wrong with it, if anything is, where it is `now`.
absl::StatusOr<checked_backup> check_backup(std::istream& from, time_point now);

struct restore_settings {
  time_point now = no_time; ///< from which epochs count on
  /// How long a store that does not answer is asked again.
  std::chrono::milliseconds patience = std::chrono::minutes{1};
};

/// Puts a backup, which is to be checked before, into an empty store that no replica uses. The
/// schema comes last, when the file was found whole once more: a store without it is known as half
/// restored by everybody. Where it fails, nothing is taken back, and the error says what to do.
absl::Status restore(std::istream& from, store& into, const restore_settings& settings);

} // namespace reprieve
