#pragma once

#include "actors/gateway/gateway.hpp"

namespace reprieve {

/// Has the objects go, all or none; answers when that is durable.
caf::result<absl::Status> delete_all(gateway_pointer self, const delete_request& wanted);

} // namespace reprieve
