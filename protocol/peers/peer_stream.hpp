#pragma once

#include "protocol/access/tls_files.hpp"
#include "protocol/peers/peer_link.hpp"

#include <absl/status/statusor.h>

#include <functional>
#include <memory>
#include <string>

namespace reprieve {

/// What a process of the cluster is, as the organisation of its certificate says: `reprieve:peer`,
/// `reprieve:machines`. The certificate of a replica that has organisational units is good for
/// replicas of these names only.
enum class peer_role { replica, machines };

/// Whether both sides can check each other: all three files are given, or none.
absl::Status check_peer_files(const tls_files& tls);

/// Wires over gRPC. With TLS files both sides show a certificate and check that of the other, which
/// must be of the role that is asked for; they are read anew for every connection. Nothing is sent
/// before it is known who is there; where it is somebody else, `say` is told, once for each
/// address.
struct dial_settings {
  tls_files tls;
  peer_role whom = peer_role::replica;
  std::string own_name{};   ///< of the replica that dials
  std::string their_name{}; ///< of the replica that is dialed; empty for machines
  std::string secret{};     ///< shown to who listens, where that is no certificate
  std::function<void(const std::string&)> say = [](const std::string&) {};
};
wire_maker dial_over_grpc(dial_settings with);

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
