#pragma once

#include "state/text/line_limit.hpp"

namespace reprieve {

/// What gRPC says of connections that others make, and Protobuf of what they send, goes to `write`,
/// on one line each, and no more of it than a limit lets through. For the process, before it uses
/// gRPC.
void limit_grpc_log(line_writer write);

} // namespace reprieve
