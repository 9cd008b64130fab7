#pragma once

#include "actors/gateway/gateway.hpp"

namespace reprieve {

/// Sends each node's heartbeat to its shard, and gathers whom nobody knows.
caf::result<heartbeat_result> pass_on(gateway_actor::stateful_pointer<gateway_state> self,
                                      heartbeat_request& alive);

} // namespace reprieve
