#pragma once

#include "protocol/access/tls_files.hpp"
#include "protocol/peers/peer_wire.hpp"

#include <absl/status/statusor.h>

#include <functional>
#include <memory>
#include <string>

namespace reprieve {

/// Lets replicas in, and nobody else where certificates are checked.
class peer_server {
public:
  struct settings {
    std::string listen; ///< host and port; port 0 takes a free one
    tls_files tls;
    bool insecure = false; ///< may be open to other machines without encryption
    std::string secret{};  ///< that who comes in has to show, without certificates; empty for none
    std::function<void(const std::string&)> say = [](const std::string&) {}; ///< for the log
  };

  /// Makes the actor that has the end of a wire.
  using session_maker = std::function<wire_end_actor(std::shared_ptr<peer_wire>)>;

  static absl::StatusOr<std::unique_ptr<peer_server>> start(session_maker sessions,
                                                            const settings& with);

  peer_server() = default;
  peer_server(const peer_server&) = delete;
  peer_server& operator=(const peer_server&) = delete;
  virtual ~peer_server() = default;

  /// Where it listens.
  virtual const std::string& address() const = 0;
  /// Ends all connections.
  virtual void stop() = 0;
};

} // namespace reprieve
