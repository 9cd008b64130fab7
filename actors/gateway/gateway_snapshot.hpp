#pragma once

#include "actors/gateway/gateway.hpp"

namespace reprieve {

/// Gathers the whole live state from the coordinators and the queue shard.
caf::result<snapshot_result> take_snapshot(gateway_pointer self);

} // namespace reprieve
