#include "protocol/heartbeat_stream.hpp"

#include "protocol/api_stream.hpp"
#include "protocol/convert_requests.hpp"
#include "protocol/grpc_status.hpp"
#include "protocol/stream_ending.hpp"

#include <reprieve/v1/api.pb.h>

#include <utility>

namespace reprieve {

heartbeat_stream* heartbeat_stream::start(grpc::CallbackServerContext& context,
                                          heartbeat_intake& intake,
                                          const absl::StatusOr<stream_pointer>& let_in) {
  const std::shared_ptr<heartbeat_stream> made(new heartbeat_stream(context, intake));
  made->keep(made, [held = let_in.value_or(nullptr)] {});
  if (!let_in.ok()) {
    made->end(to_grpc(let_in.status()));
    return made.get();
  }
  end_when_withdrawn(**let_in, made);
  made->read_on();
  return made.get();
}

void heartbeat_stream::OnReadDone(bool ok) {
  if (!ok) {
    one_less();
    return;
  }
  const auto message = from_bytes<v1::HeartbeatRequest>(next_);
  auto alive = message.ok() ? from_proto(*message) : message.status();
  if (!alive.ok()) {
    end(to_grpc(alive.status()));
    return;
  }
  const bool had_come = std::chrono::steady_clock::now() - asked_ < at_once;
  ++open_;
  may_read_ = true;
  intake_.add(*std::move(alive), [stream = shared_from_this()](const heartbeat_result& unknown) {
    stream->taken_in(unknown);
  });
  if (had_come)
    read_on();
}

void heartbeat_stream::taken_in(const heartbeat_result& unknown) {
  if (!unknown.ok()) {
    end(to_grpc(unknown.status()));
  } else if (!unknown->empty()) {
    v1::HeartbeatResponse answer;
    answer.mutable_unknown()->Add(unknown->begin(), unknown->end());
    push(to_bytes(answer));
  }
  one_less();
  read_on();
}

void heartbeat_stream::one_less() {
  if (--open_ == 0)
    end();
}

void heartbeat_stream::read_on() {
  if (open_ > most_open || !may_read_.exchange(false))
    return;
  asked_ = std::chrono::steady_clock::now();
  while_open([this] { StartRead(&next_); });
}

} // namespace reprieve
