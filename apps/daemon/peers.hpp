#pragma once

#include "actors/replica/replica.hpp"
#include "apps/daemon/daemon_options.hpp"
#include "protocol/peers/peer_server.hpp"
#include "state/store/store.hpp"

#include <absl/status/statusor.h>

#include <memory>

namespace reprieve {

/// Lets other replicas in, and tells the settings of this one how it and they reach each other.
/// Null where there are to be no others.
absl::StatusOr<std::unique_ptr<peer_server>> connect_peers(caf::actor_system& system,
                                                           const daemon_options& options,
                                                           const std::shared_ptr<store>& behind,
                                                           replica_settings& settings);

} // namespace reprieve
