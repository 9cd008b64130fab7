#pragma once

// For the client only: includes gRPC.

#include "protocol/client/client_options.hpp"

#include <grpcpp/grpcpp.h>
#include <reprieve/v1/api.grpc.pb.h>

#include <chrono>
#include <memory>
#include <string>

namespace reprieve {

/// The way to one server of several.
struct server_connection {
  /// How long a server may take to be connected to.
  static constexpr std::chrono::seconds connect_time{5};
  /// And to be there after all when none of them was.
  static constexpr std::chrono::milliseconds second_chance{500};

  std::string address;
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<v1::Reprieve::Stub> stub;

  /// Connects with the first call.
  static server_connection to(const std::string& address, const client_options& options);

  /// Waits until it is clear whether there is a connection; false where that takes too long.
  bool settle() const;
};

} // namespace reprieve
