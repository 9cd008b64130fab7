#pragma once

#include "actors/gateway/gateway.hpp"

namespace reprieve {

/// Answers with objects of a kind, once it is known how sure the gateway is of them.
caf::result<get_result> get(gateway_pointer self, const get_request& wanted);

} // namespace reprieve
