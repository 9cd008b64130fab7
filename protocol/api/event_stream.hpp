#pragma once

// For the server only: includes gRPC.

#include "actors/gateway/gateway.hpp"
#include "protocol/access/api_guard.hpp"
#include "protocol/api/api_stream.hpp"

#include <cstdint>
#include <memory>

namespace reprieve {

/// Events on their way to a client, page by page: the next ones are asked for when those before
/// have gone out, so that one who reads slowly, or not at all, costs nothing.
class event_stream : public std::enable_shared_from_this<event_stream> {
public:
  /// Lives as long as the call.
  static void start(caf::actor_system& system, gateway_actor gateway, std::int64_t after,
                    const std::shared_ptr<api_stream>& to, const stream_pointer& let_in);

private:
  event_stream(caf::actor_system& system, gateway_actor gateway, std::int64_t after,
               std::shared_ptr<api_stream> to)
      : system_(system), gateway_(std::move(gateway)), after_(after), to_(std::move(to)) {}

  void read_on();
  void send(const event_page& page);

  caf::actor_system& system_;
  gateway_actor gateway_;
  std::int64_t after_; ///< the newest that was sent
  std::shared_ptr<api_stream> to_;
  bool sent_any_ = false;
};

} // namespace reprieve
