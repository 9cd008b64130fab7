#pragma once

#include "testbed/processes/child_process.hpp"
#include "testbed/processes/temporary_directory.hpp"

#include <memory>
#include <string>
#include <vector>

namespace reprieve {

/// A real etcd of several members on free ports of the loopback interface, with their data in a
/// temporary directory. They go when this does, or when the program dies.
class etcd_members {
public:
  static constexpr std::size_t usual_count = 3;

  enum class reach { loopback, all_interfaces };

  /// `arguments` are added to every member's command line. They serve a moment later.
  explicit etcd_members(std::size_t count = usual_count, std::vector<std::string> arguments = {},
                        reach clients = reach::loopback);

  /// `host:port` of each for clients.
  const std::vector<std::string>& endpoints() const {
    return endpoints_;
  }

  std::size_t count() const {
    return endpoints_.size();
  }

  void start(std::size_t which);

  child_process& member(std::size_t which) {
    return *members_[which];
  }

private:
  temporary_directory directory_;
  std::vector<std::string> arguments_;
  reach clients_;
  std::vector<std::string> endpoints_;
  std::vector<std::string> peers_; ///< where they reach each other
  std::vector<std::unique_ptr<child_process>> members_;
};

} // namespace reprieve
