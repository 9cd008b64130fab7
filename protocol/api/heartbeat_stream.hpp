#pragma once

#include "protocol/access/api_guard.hpp"
#include "protocol/api/heartbeat_intake.hpp"
#include "protocol/transport/write_queue.hpp"

#include <grpcpp/generic/async_generic_service.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>

namespace reprieve {

/// One agent's call: takes its heartbeats in as they come, and answers those that name nodes which
/// are not there. Once the agent has closed its side and all is taken in, it ends. Nothing more is
/// read of an agent that does not take the answers.
class heartbeat_stream final : public write_queue<grpc::ServerGenericBidiReactor, grpc::ByteBuffer>,
                               public std::enable_shared_from_this<heartbeat_stream> {
public:
  /// Lives as long as the call.
  static std::shared_ptr<heartbeat_stream> make(grpc::CallbackServerContext& context,
                                                heartbeat_intake& intake);

  /// Takes in what comes. Where it was not let in it ends at once with the reason.
  void begin(const absl::StatusOr<stream_pointer>& let_in);

  void OnReadDone(bool ok) override;

private:
  heartbeat_stream(grpc::CallbackServerContext& context, heartbeat_intake& intake)
      : write_queue(context), intake_(intake) {}

  /// Heartbeats of so many bytes were.
  void taken_in(const heartbeat_result& unknown, std::size_t bytes);
  /// One of those is over that keep the stream open: the agent's side, and heartbeats under way.
  void one_less();
  /// Takes the next one, unless too many are under way: then the end of one of those does.
  ///
  /// While somebody waits for a message, gRPC answers each that comes with a window of its own,
  /// which costs as much as all the rest of it. So, after one that had to be waited for, those
  /// behind it gather in the connection until it is taken in.
  void read_on();

  /// So that an agent that is faster than the cluster does not fill the memory.
  static constexpr std::uint32_t most_open = 1000;
  static constexpr std::size_t most_open_bytes = 1 << 20;

  /// A message that comes sooner was there when it was asked for.
  static constexpr std::chrono::milliseconds at_once{2};

  heartbeat_intake& intake_;
  grpc::ByteBuffer next_;
  std::chrono::steady_clock::time_point asked_; ///< for the message that is read
  std::atomic<std::uint32_t> open_ = 1;
  std::atomic<std::size_t> open_bytes_ = 0; ///< of heartbeats under way
  std::atomic<bool> may_read_ = true;       ///< no read is under way, and the agent's side is open
};

} // namespace reprieve
