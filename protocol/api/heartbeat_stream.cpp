#include "protocol/api/heartbeat_stream.hpp"

#include "protocol/api/api_stream.hpp"
#include "protocol/api/stream_ending.hpp"
#include "protocol/messages/convert_requests.hpp"
#include "protocol/transport/grpc_status.hpp"
#include "state/text/printable.hpp"

#include <fmt/format.h>
#include <reprieve/v1/api.pb.h>

#include <algorithm>
#include <utility>

namespace reprieve {

namespace {

/// Of one message. A name has some ten bytes; as many messages as one likes may follow.
constexpr std::size_t most_bytes = 1 << 20;
constexpr std::size_t most_weight = 8 << 20;

/// Names in an answer.
constexpr std::size_t most_told = 1000;

absl::StatusOr<heartbeat_request> heartbeats_in(grpc::ByteBuffer& bytes) {
  if (bytes.Length() > most_bytes)
    return absl::ResourceExhaustedError(
      fmt::format("a message of heartbeats has {} bytes, and {} are taken; name the nodes in "
                  "several messages",
                  bytes.Length(), most_bytes));
  const auto message = from_bytes<v1::HeartbeatRequest>(bytes, {.most_weight = most_weight});
  return message.ok() ? from_proto(*message) : message.status();
}

/// In memory.
std::size_t bytes_of_names(const heartbeat_request& alive) {
  std::size_t bytes = 0;
  for (const auto& name : alive.nodes)
    bytes += sizeof name + name.size();
  return bytes;
}

/// The answer to heartbeats of nodes that are not there: the first of them, for the agent's people.
v1::HeartbeatResponse naming(const std::vector<std::string>& unknown) {
  v1::HeartbeatResponse answer;
  for (std::size_t i = 0; i < std::min(unknown.size(), most_told); ++i)
    answer.add_unknown(printable(unknown[i]));
  return answer;
}

} // namespace

std::shared_ptr<heartbeat_stream> heartbeat_stream::make(grpc::CallbackServerContext& context,
                                                         heartbeat_intake& intake) {
  return std::shared_ptr<heartbeat_stream>(new heartbeat_stream(context, intake));
}

void heartbeat_stream::begin(const absl::StatusOr<stream_pointer>& let_in) {
  keep(shared_from_this(), [held = let_in.value_or(nullptr)] {});
  if (!let_in.ok()) {
    end(to_grpc(let_in.status()));
    return;
  }
  end_when_withdrawn(**let_in, shared_from_this());
  when_written([this] { read_on(); });
  read_on();
}

void heartbeat_stream::OnReadDone(bool ok) {
  if (!ok) {
    one_less();
    return;
  }
  auto alive = heartbeats_in(next_);
  if (!alive.ok()) {
    end(to_grpc(alive.status()));
    return;
  }
  const bool had_come = std::chrono::steady_clock::now() - asked_ < at_once;
  const auto bytes = bytes_of_names(*alive);
  ++open_;
  open_bytes_ += bytes;
  may_read_ = true;
  intake_.add(*std::move(alive),
              [stream = shared_from_this(), bytes](const heartbeat_result& unknown) {
                stream->taken_in(unknown, bytes);
              });
  if (had_come)
    read_on();
}

void heartbeat_stream::taken_in(const heartbeat_result& unknown, std::size_t bytes) {
  if (!unknown.ok())
    end(to_grpc(unknown.status()));
  else if (!unknown->empty())
    push(to_bytes(naming(*unknown)));
  open_bytes_ -= bytes;
  one_less();
  read_on();
}

void heartbeat_stream::one_less() {
  if (--open_ == 0)
    end();
}

void heartbeat_stream::read_on() {
  const bool too_much = open_ > most_open || open_bytes_ > most_open_bytes || !all_is_written();
  if (too_much || !may_read_.exchange(false))
    return;
  asked_ = std::chrono::steady_clock::now();
  while_open([this] { StartRead(&next_); });
}

} // namespace reprieve
