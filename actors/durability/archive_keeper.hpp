#pragma once

#include "actors/caf.hpp"
#include "actors/durability/ownership.hpp"
#include "actors/durability/store_actor.hpp"
#include "state/records/decision_archive_keys.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace reprieve {

/// The keeper's reminder to itself to look what the archive holds.
struct look_at_archive {};

} // namespace reprieve

REPRIEVE_MESSAGE(reprieve::look_at_archive)

namespace reprieve {

/// Keeps the archive of finished decisions within its limits, for all replicas. Counts what has
/// ended since it looked last; whenever an hour is over, its total is written down, so that a
/// successor need not count it again. Each step reads and writes one page.
using archive_keeper_actor = typed_actor<
  /// From itself.
  handles<void(look_at_archive)>>;

struct archive_keeper_settings {
  store_actor store;
  ownership_pointer owner;
  archive_limits limits;
  wall_clock clock;
  caf::strong_actor_ptr beside; ///< with whom it ends: one that runs in one replica only
};

struct archive_keeper_state {
  static inline const char* name = "archive_keeper";

  archive_keeper_settings settings;
  bool known = false; ///< whether the following is what the store says
  archive_record record;
  archive_totals totals;
  std::set<std::int64_t> closed; ///< hours whose totals stand in the store
  std::set<std::int64_t> live;   ///< hours that were counted while decisions could still come in
  std::string counted;           ///< the key up to which the totals count; empty: from the first on
  /// Decisions that have chunks and neither key nor draft, of versions before 5; none where that
  /// was not looked for.
  std::optional<std::vector<std::string>> orphans;
};

using archive_keeper_pointer = archive_keeper_actor::stateful_pointer<archive_keeper_state>;

archive_keeper_actor::behavior_type archive_keeper(archive_keeper_pointer self,
                                                   archive_keeper_settings settings);

// -- steps ----------------------------------------------------------------------------------------

/// Goes on where a step worked; else the keeper begins anew after a pause.
using next_step = std::function<void()>;

/// Reads for the keeper, and goes on with the answer.
void read_for(archive_keeper_pointer self, range_request wanted,
              std::function<void(range_result)> then);
/// Writes for the keeper, as long as it is the one who keeps the archive.
void write_for(archive_keeper_pointer self, std::vector<operation> writes, next_step then);
/// The keeper has done what there is to do, or can't; it comes back later.
void rest(archive_keeper_pointer self);

/// Moves what versions before 5 have written to where it belongs, and erases what is left of
/// decisions that they never committed.
void settle_archive(archive_keeper_pointer self, next_step then);

} // namespace reprieve
