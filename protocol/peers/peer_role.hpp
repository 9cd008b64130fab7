#pragma once

#include "protocol/access/tls_files.hpp"

#include <absl/status/status.h>

#include <string_view>

namespace grpc {
class AuthContext;
}

namespace reprieve {

/// What a process of the cluster is, as the organisation of its certificate says: `reprieve:peer`,
/// `reprieve:machines`. The certificate of a replica that has organisational units is good for
/// replicas of these names only.
enum class peer_role { replica, machines };

/// Whether both sides can check each other: all three files are given, or none.
absl::Status check_peer_files(const tls_files& tls);

/// Whether the certificate of the other end says that it has the role, and where it is bound to
/// names of replicas, that it has this one.
absl::Status check_role(const grpc::AuthContext* connection, peer_role wanted,
                        std::string_view name);

} // namespace reprieve
