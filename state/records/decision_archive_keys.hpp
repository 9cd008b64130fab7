#pragma once

#include "state/quantities/time.hpp"
#include "state/store/store.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace reprieve {

/// How much is kept of what was decided. What is more goes, the oldest first.
struct archive_limits {
  duration age{std::chrono::hours{24 * 7}};     ///< since a decision ended
  std::int64_t bytes = std::int64_t{256} << 20; ///< of keys and values in the store
};

/// What the archive has to know of a finished decision, to count it and to let it go whole.
struct archived_decision {
  std::int64_t bytes = 0;
  time_point decided = no_time;       ///< by which the index of its workloads is sorted
  std::vector<std::string> workloads; ///< whom it placed or took something from: they find it

  bool operator==(const archived_decision&) const = default;
};

/// One of them, with what stands in its key.
struct archive_entry {
  std::string id;
  time_point ended = no_time; ///< in whole seconds
  archived_decision what;

  bool operator==(const archive_entry&) const = default;
};

/// What became of the archive.
struct archive_record {
  time_point let_go_until = no_time; ///< when the newest one had ended that was let go
  bool made_room = false;            ///< whether that one was not too old, but too much
  bool settled = false;              ///< whether all that earlier versions left stands in it

  bool operator==(const archive_record&) const = default;
};

/// What ended in one hour.
struct archive_total {
  std::int64_t count = 0;
  std::int64_t bytes = 0;

  bool operator==(const archive_total&) const = default;
};

/// The bytes that a finished decision takes in the store, where its chunks and its head have
/// `content`.
std::int64_t bytes_in_archive(const archive_entry& entry, std::uint32_t chunks,
                              std::int64_t content);

/// Enters the decision into the index of its workloads.
std::vector<operation> index_writes(const archive_entry& entry);

// -- counting -------------------------------------------------------------------------------------

/// Hours since 1970.
std::int64_t hour_of(time_point when);
time_point start_of_hour(std::int64_t hour);

/// How much the archive holds, hour by hour.
class archive_totals {
public:
  void add(std::int64_t hour, const archive_total& more);
  /// What came late may not have been counted: no total falls below nothing.
  void take(std::int64_t hour, const archive_total& less);
  void forget(std::int64_t hour);

  archive_total of(std::int64_t hour) const;
  const std::map<std::int64_t, archive_total>& hours() const {
    return hours_;
  }
  std::optional<std::int64_t> oldest() const;
  std::int64_t bytes() const;

private:
  std::map<std::int64_t, archive_total> hours_;
};

// -- letting go -----------------------------------------------------------------------------------

/// One write by which decisions go.
struct letting_go {
  std::vector<operation> erased;
  archive_total gone;         ///< of decisions that are gone whole with it
  time_point until = no_time; ///< when the newest of these had ended
  bool made_room = false;     ///< as in `archive_record`
};

/// Operations that `letting_go` leaves free in its transaction, for what is written along.
inline constexpr std::size_t operations_beside = 4;

/// Whether some of what the archive holds may have to go.
bool is_too_much(const archive_totals& held, const archive_limits& limits, time_point now);

/// What has to go of these, the oldest of all that the archive holds: writes in their order. Who
/// stops in between has decisions that not all of their workloads find, and begins with them again.
std::vector<letting_go> what_to_let_go(std::span<const archive_entry> oldest, std::int64_t held,
                                       const archive_limits& limits, time_point now);

} // namespace reprieve
