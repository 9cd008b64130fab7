#pragma once

#include <absl/status/statusor.h>

#include <string>
#include <string_view>

namespace reprieve {

/// A collector's gRPC address.
struct grpc_endpoint {
  std::string address; ///< `host:port`
  bool encrypted = false;
};

/// Accepts `host:port`, `http://host:port` and `https://host:port`.
absl::StatusOr<grpc_endpoint> parse_grpc_endpoint(std::string_view text);

/// Accepts `http://host…` and `https://host…`; without a path, the one that collectors listen on
/// is added.
absl::StatusOr<std::string> parse_http_endpoint(std::string_view text);

} // namespace reprieve
