#pragma once

#include <absl/status/status.h>
#include <grpcpp/support/status.h>

namespace reprieve {

/// How a call ended.
struct etcd_end {
  grpc::Status status;
  bool sent = true; ///< false when it provably did not leave this process
};

/// Whether the call provably did not leave this process, so that it may go to another member.
bool never_sent(const grpc::Status& status);

/// Whether a new token may help: the one we have is too old, or etcd's users changed.
bool wants_new_token(const grpc::Status& status);

/// What became of a call that only reads.
absl::Status read_status(const etcd_end& end);

/// What became of a write: `kUnknown` unless it provably did not happen.
absl::Status write_status(const etcd_end& end);

} // namespace reprieve
