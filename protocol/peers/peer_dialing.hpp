#pragma once

#include "protocol/access/tls_files.hpp"
#include "protocol/peers/peer_link.hpp"
#include "protocol/peers/peer_role.hpp"

#include <functional>
#include <string>

namespace reprieve {

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

} // namespace reprieve
