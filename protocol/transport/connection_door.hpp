#pragma once

// For servers only: includes gRPC.

#include "protocol/limits/open_connections.hpp"
#include "protocol/limits/rate_limit.hpp"
#include "protocol/transport/listening_sockets.hpp"

#include <absl/status/statusor.h>
#include <grpcpp/server_builder.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace reprieve {

/// Where connections come in: listens, and hands them to a server of gRPC as long as there are not
/// more than there may be; others are closed at once. gRPC's own listener would take them all, and
/// ends for good when the process has no descriptors left.
///
/// A connection is a stranger's until a call that came by it was let in. What gRPC keeps for
/// connections and refused calls has no bound of its own, so strangers get little: a share of the
/// connections, some seconds, some bytes, and some refusals. Those of callers who are known end
/// where they go on making calls that are refused, and where others have no room and these hold
/// most.
class connection_door {
public:
  struct settings {
    std::string listen;
    std::int64_t most = 0;          ///< connections open at a time
    std::int64_t most_per_host = 0; ///< likewise from one address, or one network of IPv6
    std::function<void(const std::string&)> say = [](const std::string&) {}; ///< for the log
    std::chrono::milliseconds for_strangers{10'000}; ///< in which somebody has to be known
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

  /// A call of that peer, as gRPC names it, was let in or refused. From any thread. Connections
  /// count for their callers, too, where it is said who calls.
  void let_in_call(const std::string& peer, const std::string& caller = {});
  void refused_call(const std::string& peer);

  const std::string& address() const {
    return sockets_.address();
  }

private:
  using instant = std::chrono::steady_clock::time_point;

  /// What is said of connections now and then, with how many there were since.
  struct notice {
    std::int64_t count = 0;
    instant said{};
  };

  connection_door(settings with, listening_sockets sockets);

  void run();
  void accept_all(int listening);
  void note(int descriptor, std::string address, std::uint16_t port);
  bool has_room_for(const std::string& host);
  /// Ends one that gives way to another one of the host. Whether there was one.
  bool make_room_for(const std::string& host);
  /// Forgets connections that are closed.
  void count_anew();
  void turn_away(int descriptor, const std::string& host);
  void say_of(notice& which, std::string_view what, std::string_view whose);
  /// Ends strangers whose time is over, or who have sent too much. Whether there are others.
  bool look_at_strangers();
  static void end(const open_connection& which);

  settings with_;
  listening_sockets sockets_;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> server_;
  std::mutex mutex_;      ///< for what follows
  open_connections open_; ///< by address and port of the other end
  rate_limit refusals_by_host_;
  std::uint64_t last_path_ = 0;
  std::string gave_way_; ///< whose connection was ended last for another one
  instant counted_{};
  notice turned_away_; ///< here and below: of the thread that lets in
  notice ended_;
  int spare_ = -1; ///< a descriptor to give up when there is no other
  int ending_ = -1;
  std::thread thread_;
};

} // namespace reprieve
