#pragma once

// For the client only: includes gRPC.

#include "protocol/client/api_client.hpp"
#include "protocol/client/server_failover.hpp"

#include <grpcpp/grpcpp.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace reprieve {

/// Heartbeats to one server. Reads on a thread of its own, as answers come whenever they like.
class heartbeat_call {
public:
  using unknown_names = std::function<void(std::vector<std::string>)>;

  heartbeat_call(const server_connection& to, std::unique_ptr<grpc::ClientContext> context,
                 unknown_names unknown);
  ~heartbeat_call();
  heartbeat_call(const heartbeat_call&) = delete;
  heartbeat_call& operator=(const heartbeat_call&) = delete;

  bool send(const heartbeat_request& alive);

  call_attempt end();

private:
  grpc::Status finish();

  std::unique_ptr<grpc::ClientContext> context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::HeartbeatRequest, v1::HeartbeatResponse>> stream_;
  std::thread reader_;
};

/// One such call, to the server that is to be asked first; another is to be when it fails.
class first_server_heartbeats final : public heartbeat_sender {
public:
  first_server_heartbeats(server_failover& servers, heartbeat_call::unknown_names unknown);

  bool send(const heartbeat_request& alive) override;
  absl::Status end() override;

private:
  server_failover& servers_;
  std::size_t at_;
  heartbeat_call call_;
};

} // namespace reprieve
