#pragma once

#include "tests/replicas/cut_wire.hpp"
#include "tests/support/child_process.hpp"
#include "tests/support/temporary_directory.hpp"

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace reprieve::replicas {

/// A real deployment on this machine: etcd with three members, the machines, and three replicas,
/// each with ways to etcd and to its peers that can be cut.
class replica_cluster {
public:
  static constexpr int count = 3;
  static constexpr std::chrono::milliseconds lease{2000};

  /// `more` are further options of the replicas.
  explicit replica_cluster(std::vector<std::string> more = {});
  ~replica_cluster();

  /// Waits until all serve.
  bool serves();

  std::vector<std::string> servers() const;
  std::vector<std::string> etcd_endpoints() const;

  // -- what can happen to it ----------------------------------------------------------------------

  void kill_replica(int which);
  void start_replica(int which);
  void stop_replica(int which); ///< as an operator does
  void signal_replica(int which, int number);
  void kill_etcd(int which);
  void start_etcd(int which);
  void signal_etcd(int which, int number);
  /// The member that leads, or -1.
  int etcd_leader();
  void cut_from_etcd(int which, bool cut);
  /// Nobody reaches the replica.
  void cut_from_peers(int which, bool cut);

  /// What the machines did, as they took it down.
  std::string journal() const;
  /// What the replicas and members said.
  std::string output() const;

private:
  struct one_replica {
    std::string api;
    std::string peer;
    std::vector<std::unique_ptr<cut_wire>> to_etcd;
    std::unique_ptr<cut_wire> from_peers;
    std::unique_ptr<child_process> process;
  };

  struct one_member {
    std::string client;
    std::string peer;
    std::unique_ptr<child_process> process;
  };

  std::string file(const std::string& name) const {
    return (directory_.path() / name).string();
  }

  temporary_directory directory_;
  std::vector<std::string> more_;
  std::string machines_;
  std::unique_ptr<child_process> machines_process_;
  std::vector<one_member> etcd_;
  std::vector<one_replica> replicas_;
};

} // namespace reprieve::replicas
