#pragma once

// For the server only: includes gRPC.

#include "protocol/access/api_guard.hpp"
#include "protocol/transport/grpc_status.hpp"

#include <memory>

namespace reprieve {

/// Ends the stream with a sentence when its caller may not have it any more.
template <class Stream>
void end_when_withdrawn(open_stream& let_in, const std::shared_ptr<Stream>& stream) {
  let_in.when_withdrawn([weak = std::weak_ptr(stream)](const absl::Status& why) {
    if (const auto there = weak.lock())
      there->break_off(to_grpc(why));
  });
}

} // namespace reprieve
