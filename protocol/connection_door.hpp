#pragma once

// For servers only: includes gRPC.

#include "protocol/listening_sockets.hpp"
#include "protocol/rate_limit.hpp"

#include <absl/status/statusor.h>
#include <grpcpp/server_builder.h>
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>

namespace reprieve {

/// Where connections come in: listens, and hands them to a server of gRPC as long as there are not
/// more than there may be; others are closed at once. gRPC's own listener would take them all, and
/// ends for good when the process has no descriptors left.
///
/// A connection is a stranger's until a call that came by it was let in. What gRPC keeps for
/// connections and refused calls has no bound of its own, so strangers get little: a share of the
/// connections, some seconds, some bytes, and some refusals. Those of callers who are known end
/// where they go on making calls that are refused.
class connection_door {
public:
  struct settings {
    std::string listen;
    std::int64_t most = 0;          ///< connections open at a time
    std::int64_t most_per_host = 0; ///< likewise from one address
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

  /// A call of that peer, as gRPC names it, was let in or refused. From any thread.
  void let_in_call(const std::string& peer);
  void refused_call(const std::string& peer);

  const std::string& address() const {
    return sockets_.address();
  }

private:
  using instant = std::chrono::steady_clock::time_point;

  /// One that was let in: a descriptor, which is another one's as soon as it is closed.
  struct connection {
    int descriptor = -1;
    ino_t socket = 0;
    std::string host;
    std::uint64_t number = 0;
    instant since;
    bool known = false;
    instant refused_since{}; ///< from when the refusals are counted
    int refusals = 0;
  };
  struct share {
    std::int64_t open = 0;
    std::int64_t strangers = 0;
  };
  using connections = std::unordered_map<std::string, connection>;

  connection_door(settings with, listening_sockets sockets);

  void run();
  void accept_all(int listening);
  void note(int descriptor, const std::string& host, std::uint16_t port);
  bool has_room_for(const std::string& host);
  bool is_full_for(const std::string& host) const;
  /// Ends the oldest stranger of the host, or of all where it is empty, that has had its time for a
  /// handshake. Whether there was one.
  bool end_a_stranger(const std::string& host);
  /// Forgets connections that are closed.
  void count_anew();
  void forget(connections::iterator which);
  void turn_away(int descriptor, const std::string& host);
  /// Ends strangers whose time is over, or who have sent too much. Whether there are others.
  bool look_at_strangers();
  static void end(const connection& which);

  settings with_;
  std::int64_t most_strangers_ = 0;
  std::int64_t most_strangers_per_host_ = 0;
  listening_sockets sockets_;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> server_;
  std::mutex mutex_;                               ///< for what follows
  connections open_;                               ///< by address and port of the other end
  std::map<std::uint64_t, std::string> strangers_; ///< the oldest first
  std::unordered_map<std::string, share> by_host_;
  rate_limit refusals_by_host_;
  std::uint64_t last_number_ = 0;
  instant counted_{};
  instant said_{};
  std::int64_t turned_away_ = 0; ///< since that was said
  int spare_ = -1;               ///< a descriptor to give up when there is no other
  int ending_ = -1;
  std::thread thread_;
};

} // namespace reprieve
