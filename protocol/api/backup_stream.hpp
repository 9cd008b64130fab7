#pragma once

// For the server only: includes gRPC.

#include "actors/gateway/gateway.hpp"
#include "protocol/access/api_guard.hpp"
#include "protocol/api/api_stream.hpp"

#include <cstdint>
#include <memory>

namespace reprieve {

/// One backup on its way to a client. The next page is read when the one before has gone out, so
/// that one who reads slowly fills no memory.
class backup_stream : public std::enable_shared_from_this<backup_stream> {
public:
  /// Lives as long as the call.
  static void start(caf::actor_system& system, gateway_actor gateway,
                    const std::shared_ptr<api_stream>& to, const stream_pointer& let_in);

private:
  backup_stream(caf::actor_system& system, gateway_actor gateway, std::shared_ptr<api_stream> to)
      : system_(system), gateway_(std::move(gateway)), to_(std::move(to)) {}

  /// Asks for the next page.
  void read_on();
  void send(const backup_page& page);

  caf::actor_system& system_;
  gateway_actor gateway_;
  std::shared_ptr<api_stream> to_;
  backup_page_request next_;
  std::int64_t count_ = 0;
};

} // namespace reprieve
