#pragma once

#include "actors/gateway/gateway.hpp"
#include "protocol/access/api_settings.hpp"

#include <absl/status/statusor.h>

#include <memory>
#include <string>

namespace reprieve {

/// The API over gRPC: turns calls into requests to the gateway.
class api_server {
public:
  /// Listens on `address`, such as `127.0.0.1:7420`; port 0 takes a free one. Refuses to be open to
  /// other machines without protection.
  static absl::StatusOr<std::unique_ptr<api_server>> start(const std::string& address,
                                                           caf::actor_system& system,
                                                           gateway_actor gateway,
                                                           const api_settings& settings = {});

  virtual ~api_server() = default;

  /// What it listens on.
  virtual const std::string& address() const = 0;

  /// Ends calls that are under way within a moment; no new ones are taken.
  virtual void stop() = 0;
};

} // namespace reprieve
