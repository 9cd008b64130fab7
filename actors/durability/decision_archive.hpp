#pragma once

#include "actors/durability/store_actor.hpp"
#include "state/model/decision.hpp"
#include "state/records/decision_archive_keys.hpp"

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace reprieve {

/// Asks the store for a range.
using range_reader = std::function<void(range_request, std::function<void(range_answer)>)>;

/// Which decisions are meant.
struct decisions_wanted {
  std::string id;                                 ///< this one; or, where that is empty,
  std::vector<std::string> workloads;             ///< those that concern one of these
  std::function<bool(const decision&)> fine = {}; ///< and pass this; null where all do
  std::size_t most = 20;
};

struct decisions_found {
  std::vector<decision> decisions; ///< newest first
  archive_record archive;
  bool more = false; ///< whether there are older ones that were not looked at
};

/// Finds the newest of the decisions that are meant, open and finished ones, and calls `done`. What
/// it reads of the archive is what it finds: nothing depends on how much else there is.
///
/// Finished decisions that a version before 5 has written have no index: as long as some are not
/// moved to the others, all their heads are read, page by page.
void find_decisions(range_reader read, decisions_wanted wanted,
                    std::function<void(absl::StatusOr<decisions_found>)> done);

/// The workloads that may have a pod of that name or uid: a pod's name is its workload's with
/// `-<pod group>-<replica>-<index>`.
std::vector<std::string> possible_owners(const std::string& pod);

} // namespace reprieve
