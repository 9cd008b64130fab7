#pragma once

// For servers only: includes gRPC.

#include "protocol/listening_sockets.hpp"

#include <absl/status/statusor.h>
#include <grpcpp/server_builder.h>
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace reprieve {

/// Where connections come in: listens, and hands them to a server of gRPC as long as there are not
/// more than there may be; others are closed at once. gRPC's own listener would take them all, and
/// ends for good when the process has no descriptors left.
class connection_door {
public:
  struct settings {
    std::string listen;
    std::int64_t most = 0;          ///< connections open at a time
    std::int64_t most_per_host = 0; ///< likewise from one address
    std::function<void(const std::string&)> say = [](const std::string&) {}; ///< for the log
  };

  static absl::StatusOr<std::unique_ptr<connection_door>> open(const settings& with);
  ~connection_door();
  connection_door(const connection_door&) = delete;
  connection_door& operator=(const connection_door&) = delete;

  /// To be called while the server is made.
  void lead_to(grpc::ServerBuilder& builder, std::shared_ptr<grpc::ServerCredentials> credentials);

  /// From now on connections are let in: the server has started.
  void let_in();

  /// Before the server ends.
  void close();

  const std::string& address() const {
    return sockets_.address();
  }

private:
  /// One that was let in: a descriptor, which is another one's as soon as it is closed.
  struct connection {
    int descriptor = -1;
    ino_t socket = 0;
    std::string host;
  };

  connection_door(settings with, listening_sockets sockets);

  void run();
  void accept_all(int listening);
  bool has_room_for(const std::string& host);
  /// Forgets connections that are closed.
  void count_anew();
  void turn_away(int descriptor, const std::string& host);

  settings with_;
  listening_sockets sockets_;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> server_;
  std::vector<connection> open_;
  std::map<std::string, std::int64_t> by_host_;
  std::chrono::steady_clock::time_point counted_{};
  std::chrono::steady_clock::time_point said_{};
  std::int64_t turned_away_ = 0; ///< since that was said
  int spare_ = -1;               ///< a descriptor to give up when there is no other
  int ending_ = -1;
  std::thread thread_;
};

} // namespace reprieve
