#pragma once

// For the server only: includes gRPC.

#include "actors/gateway/gateway.hpp"
#include "protocol/access/api_guard.hpp"
#include "protocol/access/api_settings.hpp"
#include "protocol/api/call_answerer.hpp"
#include "protocol/api/heartbeat_intake.hpp"
#include "protocol/limits/waiting_for_callers.hpp"
#include "protocol/transport/connection_door.hpp"

#include <grpcpp/generic/async_generic_service.h>

#include <chrono>
#include <memory>

namespace reprieve {

/// All calls come in here, before anything of their bodies is read.
class api_service final : public grpc::CallbackGenericService {
public:
  api_service(caf::actor_system& system, const gateway_actor& gateway,
              std::unique_ptr<api_guard> guard, const api_limits& limits);

  /// Where connections come in; to be said before the first call.
  void use_door(connection_door& door);

  grpc::ServerGenericBidiReactor*
  CreateReactor(grpc::GenericCallbackServerContext* context) override;

private:
  /// Ends a call of which nothing was begun.
  grpc::ServerGenericBidiReactor* shut_out(grpc::CallbackServerContext& context,
                                           const absl::Status& why);

  /// Begins a call that was let in and has a request of one message.
  grpc::ServerGenericBidiReactor* start(grpc::CallbackServerContext& context,
                                        const std::shared_ptr<open_call>& call);

  /// Begins a call that was let in and has heartbeats.
  grpc::ServerGenericBidiReactor* hear(grpc::CallbackServerContext& context,
                                       const std::shared_ptr<open_call>& call);

  /// Answers that the caller does not take have to end somewhere.
  template <class Stream>
  void set_bounds(const std::shared_ptr<Stream>& stream, const open_call& call);

  std::shared_ptr<call_answerer> answerer_;
  connection_door* door_ = nullptr;
  std::chrono::seconds answer_time_;
  heartbeat_intake heartbeats_;
  waiting_for_callers waiting_; ///< last, for its thread looks at calls
};

} // namespace reprieve
