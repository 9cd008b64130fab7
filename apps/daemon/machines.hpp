#pragma once

#include "actors/interfaces/cluster.hpp"
#include "apps/daemon/daemon_options.hpp"

#include <absl/status/status.h>

namespace reprieve {

/// Whether machines that are played here can use what they did before, where they are.
absl::Status check_machines(const daemon_options& options);

/// What runs the pods: machines that are played here, or elsewhere for all replicas.
cluster_actor start_machines(caf::actor_system& system, const daemon_options& options,
                             const wall_clock& clock);

} // namespace reprieve
