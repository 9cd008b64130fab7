#pragma once

#include "actors/gateway/gateway.hpp"

namespace reprieve {

/// Sends each node's heartbeat to its shard, and gathers whom nobody knows.
caf::result<heartbeat_result> pass_on(gateway_pointer self, heartbeat_request& alive);

} // namespace reprieve
