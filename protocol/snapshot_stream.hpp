#pragma once

#include "actors/gateway.hpp"
#include "protocol/api_guard.hpp"
#include "protocol/snapshot_manifests.hpp"
#include "protocol/write_queue.hpp"

#include <reprieve/v1/api.pb.h>

#include <memory>
#include <optional>

namespace reprieve {

/// One snapshot on its way to a client. The next piece of text is made when the one before has gone
/// out, on the stream's own thread: the actors are asked once, at the beginning.
class snapshot_stream final
    : public write_queue<grpc::ServerWriteReactor<v1::SnapshotChunk>, v1::SnapshotChunk>,
      public std::enable_shared_from_this<snapshot_stream> {
public:
  /// Owned by the call. Where it was not let in it ends at once with the reason.
  static snapshot_stream* start(caf::actor_system& system, gateway_actor gateway,
                                const absl::StatusOr<stream_pointer>& let_in);

  void OnWriteDone(bool ok) override;

private:
  snapshot_stream() = default;

  void send_next();

  std::optional<snapshot_manifests> rest_;
  bool all_sent_ = false;
};

} // namespace reprieve
