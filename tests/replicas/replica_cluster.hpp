#pragma once

#include "testbed/processes/child_process.hpp"
#include "testbed/processes/etcd_members.hpp"
#include "testbed/processes/temporary_directory.hpp"
#include "tests/replicas/cut_wire.hpp"
#include "tests/replicas/private_network.hpp"
#include "tests/support/certificate_maker.hpp"

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace reprieve::replicas {

/// How a deployment differs from the usual one.
struct cluster_options {
  std::vector<std::string> more{}; ///< options of the replicas
  std::chrono::milliseconds lease{2000};
  /// Each replica in a network namespace, where a cut is both ways; `private_network::enter` was
  /// called and had nothing to say.
  bool in_namespaces = false;
};

/// A real deployment on this machine: etcd with three members, the machines, and three replicas,
/// each with ways to etcd and to its peers that can be cut.
class replica_cluster {
public:
  static constexpr int count = 3;

  explicit replica_cluster(cluster_options options = {});
  ~replica_cluster();

  /// Waits until all serve.
  bool serves();

  /// The addresses of all, or of all but one.
  std::vector<std::string> servers(int but = -1) const;
  std::string server(int which) const;
  std::vector<std::string> etcd_endpoints() const;
  std::chrono::milliseconds lease() const {
    return options_.lease;
  }

  /// The name that the replica has in the store.
  static std::string name_of(int which);
  /// Which replica owns what, by the records in the store; nothing where that can't be read.
  std::map<std::string, std::string> owners() const;
  /// The same, once that is what it was a second before and all that are up own something.
  std::map<std::string, std::string> settled_owners() const;

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
  /// Nobody reaches the replica; in namespaces, nor does it reach anybody.
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

  void choose_addresses();
  void make_certificates();

  std::string file(const std::string& name) const {
    return (directory_.path() / name).string();
  }

  temporary_directory directory_;
  cluster_options options_;
  std::unique_ptr<private_network> network_; ///< where the replicas are in namespaces
  std::optional<certificate_maker> certificates_;
  std::string machines_; ///< where they listen
  std::unique_ptr<child_process> machines_process_;
  etcd_members etcd_;
  std::vector<one_replica> replicas_;
};

} // namespace reprieve::replicas
