#pragma once

#include "actors/caf.hpp"
#include "state/records/cluster_snapshot.hpp"

#include <absl/status/statusor.h>

#include <memory>

namespace reprieve {

/// Asks a coordinator for all that it decides on.
struct read_group {
  bool operator==(const read_group&) const = default;
};
using read_group_result = absl::StatusOr<group_snapshot>;

/// Asks for the whole live state.
struct snapshot_request {};
using snapshot_result = absl::StatusOr<std::shared_ptr<const cluster_snapshot>>;

} // namespace reprieve

REPRIEVE_MESSAGE(reprieve::read_group)
REPRIEVE_MESSAGE(reprieve::read_group_result)
REPRIEVE_MESSAGE(reprieve::snapshot_request)
REPRIEVE_MESSAGE(reprieve::snapshot_result)
