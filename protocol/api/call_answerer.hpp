#pragma once

// For the server only: includes gRPC.

#include "actors/gateway/gateway.hpp"
#include "protocol/access/api_guard.hpp"
#include "protocol/access/api_settings.hpp"
#include "protocol/api/api_stream.hpp"
#include "protocol/api/stream_ending.hpp"
#include "protocol/limits/caller_turns.hpp"

#include <chrono>
#include <memory>

namespace reprieve {

/// Reads the requests of calls that were let in, and answers them. Shared by all that still have to
/// do with a call: an actor that waits for an answer may have it for longer than there is a server.
class call_answerer final : public std::enable_shared_from_this<call_answerer> {
public:
  call_answerer(caf::actor_system& system, gateway_actor gateway, std::unique_ptr<api_guard> guard,
                const api_limits& limits);

  api_guard& guard() const {
    return *guard_;
  }

  /// Answers a call that has a request of one message.
  void begin(const std::shared_ptr<api_stream>& stream, const std::shared_ptr<open_call>& call);

private:
  /// One call that has one answer.
  struct asked_for {
    std::shared_ptr<api_stream> stream;
    std::shared_ptr<open_call> call;
    grpc::ByteBuffer request;
    turns::ticket turn; ///< of a request that is heavy; held until it has its answer
  };

  /// The request is there. One that takes memory waits for its turn.
  void take(asked_for asked);

  void carry_out(asked_for asked);

  /// Has the call stay open. What goes over it later is not a request of its own.
  stream_pointer open_stream_for(const asked_for& asked);

  /// Asks the gateway and ends the call with its answer; `respond` makes the message of a good one.
  /// All calls but streams come through here.
  template <class Request, class Result, class F>
  void answer(asked_for asked, F respond);

  /// Sends the events that are asked for.
  void follow(asked_for asked);

  caf::actor_system& system_;
  gateway_actor gateway_;
  std::unique_ptr<api_guard> guard_;
  std::chrono::seconds request_time_;
  turns reading_;
  turns heavy_;
};

} // namespace reprieve
