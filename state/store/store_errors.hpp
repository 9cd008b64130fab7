#pragma once

#include "state/store/store.hpp"

#include <fmt/format.h>

namespace reprieve {

/// The refusals that stores have in common.
inline absl::Status lease_gone(lease_id lease) {
  return absl::NotFoundError(fmt::format("lease {} is gone: it expired or was revoked", lease));
}

/// `oldest` is the first revision that can still be had.
inline absl::Status compacted_away(revision asked, revision oldest) {
  return absl::OutOfRangeError(
    fmt::format("revision {} is compacted away; the oldest still there is {}", asked, oldest));
}

inline absl::Status not_there_yet(revision asked, revision current) {
  return absl::OutOfRangeError(
    fmt::format("revision {} is not there yet; the newest is {}", asked, current));
}

/// Whether a read at `at` (0: the newest) can be answered, with history from `oldest` on.
inline absl::Status check_read_revision(revision at, revision oldest, revision current) {
  if (at > current)
    return not_there_yet(at, current);
  if (at != 0 && at < oldest - 1)
    return compacted_away(at, oldest - 1);
  return absl::OkStatus();
}

/// Whether history from `oldest` on can be cut to start at `before`.
inline absl::Status check_compaction(revision before, revision oldest, revision current) {
  if (before > current + 1)
    return not_there_yet(before, current);
  if (before <= oldest)
    return compacted_away(before, oldest);
  return absl::OkStatus();
}

} // namespace reprieve
