#pragma once

#include <absl/status/status.h>
#include <grpcpp/support/status.h>

#include <string>

namespace reprieve {

/// The codes of both are the same numbers.
inline grpc::Status to_grpc(const absl::Status& status) {
  return {static_cast<grpc::StatusCode>(status.code()), std::string(status.message())};
}

} // namespace reprieve
