#pragma once

#include "actors/gateway/gateway.hpp"

namespace reprieve {

/// Gathers the whole live state from the coordinators and the queue shard.
caf::result<snapshot_result> take_snapshot(gateway_actor::stateful_pointer<gateway_state> self);

} // namespace reprieve
