#pragma once

#include "testbed/processes/free_endpoint.hpp"
#include "testbed/processes/temporary_directory.hpp"

#include <sys/types.h>

#include <string>
#include <vector>

namespace reprieve {

/// A real etcd with one member, on free ports of the loopback interface and with its data in a
/// temporary directory. It goes when this does, or when the test program dies.
class etcd_process {
public:
  /// Whether there is an etcd to start.
  static bool available();

  /// `url_scheme` is http or https; `arguments` are added to etcd's command line.
  explicit etcd_process(std::vector<std::string> arguments = {}, std::string url_scheme = "http");
  ~etcd_process();

  etcd_process(const etcd_process&) = delete;
  etcd_process& operator=(const etcd_process&) = delete;

  /// `host:port` for clients.
  const std::string& endpoint() const {
    return endpoint_;
  }

  /// Returns when it serves; throws when it does not within a while.
  void start();

  /// Starts it on another endpoint than before.
  void start_on(std::string endpoint);

  void kill();
  void pause();
  void resume();

private:
  std::vector<std::string> command() const;

  temporary_directory directory_;
  std::vector<std::string> arguments_;
  std::string scheme_;
  std::string endpoint_;
  std::string peer_endpoint_;
  pid_t process_ = 0;
};

} // namespace reprieve
