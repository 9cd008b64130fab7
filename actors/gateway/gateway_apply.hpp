#pragma once

#include "actors/gateway/gateway.hpp"

namespace reprieve {

/// Admits the objects and makes them durable, all or none.
caf::result<apply_result> apply_all(gateway_pointer self, apply_request& wanted);

} // namespace reprieve
