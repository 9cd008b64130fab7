#include "protocol/client/heartbeat_call.hpp"

#include "protocol/messages/convert_requests.hpp"

#include <utility>

namespace reprieve {

heartbeat_call::heartbeat_call(const server_connection& to,
                               std::unique_ptr<grpc::ClientContext> context, unknown_names unknown)
    : context_(std::move(context)), stream_(to.stub->Heartbeat(context_.get())),
      reader_([this, unknown = std::move(unknown)] {
        for (v1::HeartbeatResponse next; stream_->Read(&next);)
          unknown({next.unknown().begin(), next.unknown().end()});
      }) {}

heartbeat_call::~heartbeat_call() {
  if (reader_.joinable()) {
    context_->TryCancel();
    (void)finish();
  }
}

bool heartbeat_call::send(const heartbeat_request& alive) {
  return stream_->Write(to_proto(alive));
}

call_attempt heartbeat_call::end() {
  stream_->WritesDone();
  const auto status = finish();
  return call_attempt::ended(status, *context_);
}

grpc::Status heartbeat_call::finish() {
  reader_.join();
  return stream_->Finish();
}

first_server_heartbeats::first_server_heartbeats(server_failover& servers,
                                                 heartbeat_call::unknown_names unknown)
    : servers_(servers), at_(servers.first()),
      call_(servers.at(at_), servers.make_context(), std::move(unknown)) {}

bool first_server_heartbeats::send(const heartbeat_request& alive) {
  return call_.send(alive);
}

absl::Status first_server_heartbeats::end() {
  const auto last = call_.end();
  if (last.went_missing())
    servers_.pass_over(at_);
  return servers_.outcome(last);
}

} // namespace reprieve
