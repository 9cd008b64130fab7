#pragma once

// For the server only: includes gRPC.

#include "actors/gateway/gateway.hpp"
#include "protocol/access/api_guard.hpp"
#include "protocol/api/api_stream.hpp"
#include "protocol/manifest/snapshot_manifests.hpp"

#include <memory>
#include <optional>

namespace reprieve {

/// One snapshot on its way to a client. The next piece of text is made when the one before has gone
/// out, on the stream's own thread: the actors are asked once, at the beginning.
class snapshot_stream : public std::enable_shared_from_this<snapshot_stream> {
public:
  /// Lives as long as the call.
  static void start(caf::actor_system& system, gateway_actor gateway,
                    const std::shared_ptr<api_stream>& to, const stream_pointer& let_in);

private:
  explicit snapshot_stream(std::shared_ptr<api_stream> to) : to_(std::move(to)) {}

  void begin(const snapshot_result& taken);
  void send_next();

  std::shared_ptr<api_stream> to_;
  std::optional<snapshot_manifests> rest_;
};

} // namespace reprieve
