#pragma once

#include "actors/gateway/gateway.hpp"

#include <functional>
#include <memory>

namespace reprieve {

/// Gathers the heartbeats of many calls for a moment and passes them to the gateway as one: each by
/// itself would cost more messages between actors than all the rest of the call.
class heartbeat_intake {
public:
  using answer = std::function<void(const heartbeat_result&)>;

  heartbeat_intake(caf::actor_system& system, gateway_actor gateway);
  ~heartbeat_intake();
  heartbeat_intake(const heartbeat_intake&) = delete;
  heartbeat_intake& operator=(const heartbeat_intake&) = delete;

  /// Calls `done`, on any thread, once the heartbeats are taken in.
  void add(heartbeat_request alive, answer done);

private:
  struct gathered;
  std::shared_ptr<gathered> gathered_;
};

} // namespace reprieve
