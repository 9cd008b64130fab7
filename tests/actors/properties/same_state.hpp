#pragma once

#include "actors/coordinator/group_mirror.hpp"
#include "preemption/snapshot/snapshot.hpp"
#include "state/records/cluster_snapshot.hpp"

#include <absl/status/statusor.h>

#include <string>

namespace reprieve::tests {

/// What `decide` makes of a live state: written as manifests, read again.
absl::StatusOr<snapshot> written_and_read(const cluster_snapshot& of);

/// Likewise without the text.
absl::StatusOr<snapshot> taken_from(const cluster_snapshot& of);

/// How what was read differs from what the coordinator's mirror decides on: nodes, every pod,
/// budgets, who waits, and what each of those would get or take. Empty where nothing does.
std::string difference(const snapshot& read, group_mirror& live, const plan_settings& settings);

} // namespace reprieve::tests
