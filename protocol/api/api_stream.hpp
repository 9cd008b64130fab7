#pragma once

// For the server only: includes gRPC.

#include "protocol/messages/message_weight.hpp"
#include "protocol/transport/write_queue.hpp"
#include "state/model/unchanged_error.hpp"

#include <absl/status/statusor.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <utility>

namespace reprieve {

/// A message as it goes over the wire.
template <class Message>
grpc::ByteBuffer to_bytes(const Message& message) {
  grpc::ByteBuffer bytes;
  bool own = false;
  // Can't fail with a message that is whole.
  (void)grpc::SerializationTraits<Message>::Serialize(message, &bytes, &own);
  return bytes;
}

/// How much of a request is read.
struct request_bounds {
  std::size_t light = 16 << 10; ///< bytes in which no message can be that takes too much memory
  std::size_t most_weight = 64 << 20; ///< bytes of memory that a message may take
};

/// The message in the bytes, or why it is not taken; the bytes are gone then.
template <class Message>
absl::StatusOr<Message> from_bytes(grpc::ByteBuffer& bytes, const request_bounds& bounds = {}) {
  if (bytes.Length() > bounds.light) {
    grpc::ProtoBufferReader reader(&bytes);
    if (!message_weight(*Message::descriptor(), reader, bounds.most_weight))
      return absl::ResourceExhaustedError(
        fmt::format("the request is no {} that takes at most {} MiB of memory; send its parts in "
                    "several requests",
                    Message::descriptor()->name(), bounds.most_weight >> 20));
  }
  Message message;
  if (!grpc::SerializationTraits<Message>::Deserialize(&bytes, &message).ok())
    return absl::InvalidArgumentError(
      fmt::format("the request is no {}", Message::descriptor()->name()));
  return message;
}

/// One call of the API, whatever it is for, as bytes: nothing of its body is read before somebody
/// asks for it, and so before it is known who calls.
class api_stream final : public write_queue<grpc::ServerGenericBidiReactor, grpc::ByteBuffer> {
public:
  using request_reader = std::function<void(grpc::ByteBuffer)>;

  explicit api_stream(grpc::CallbackServerContext& context) : write_queue(context) {}

  /// Reads a message and calls `then` with it, on a thread of gRPC's; not where the caller ends
  /// without one. One that takes longer than it may ends the call.
  void read_request(std::chrono::milliseconds most, request_reader then) {
    while_open([&] {
      longest_read_ = most;
      then_ = std::move(then);
      began_reading_ = instant::clock::now();
      reading_ = true;
      StartRead(&request_);
    });
  }

  /// Ends a call that has one answer: with it where `how` is good, else with the reason.
  void finish_with(grpc::ByteBuffer answer, const absl::Status& how) {
    add_trailer(nothing_changed_mark, is_marked_nothing_changed(how) ? "yes" : "unsaid");
    if (how.ok())
      push_last(std::move(answer));
    else
      end(to_grpc(how));
  }

  void OnReadDone(bool ok) override {
    request_reader then;
    locked([&] {
      reading_ = false;
      then = std::exchange(then_, {});
    });
    if (!then)
      return;
    if (ok)
      then(std::exchange(request_, {}));
    else
      end({grpc::StatusCode::INVALID_ARGUMENT, "the call ended without a request"});
  }

  void look_at_the_time(instant now) override {
    write_queue::look_at_the_time(now);
    bool too_long = false;
    while_open([&] { too_long = reading_ && now - began_reading_ > longest_read_; });
    if (too_long)
      break_off({grpc::StatusCode::DEADLINE_EXCEEDED,
                 fmt::format("the request did not come within {} ms", longest_read_.count())});
  }

private:
  grpc::ByteBuffer request_;
  request_reader then_;
  instant began_reading_;
  std::chrono::milliseconds longest_read_{0};
  bool reading_ = false;
};

} // namespace reprieve
