#pragma once

#include "state/quantities/time.hpp"
#include "testbed/processes/child_process.hpp"

#include <absl/status/status.h>

#include <memory>
#include <string>
#include <vector>

namespace reprieve {

/// The path of a program that lies in the same folder as this one.
std::string beside_this_program(const char* name);

/// What a daemon that is started for a measurement needs to know.
struct daemon_settings {
  std::string program; ///< the path of `reprieved`
  std::string directory;
  std::string name;
  std::vector<std::string> etcd;
  std::string prefix;   ///< before its keys in etcd
  std::string machines; ///< address of `reprieve machines`; empty: it plays its own
  std::vector<std::string> more{};
};

/// A real `reprieved` that shares a cluster in etcd with others, open to this machine only.
class daemon_process {
public:
  explicit daemon_process(const daemon_settings& settings);

  /// Waits until it answers what is asked of every object.
  absl::Status serves(std::chrono::seconds most);

  const std::string& address() const {
    return address_;
  }

  child_process& process() {
    return *process_;
  }

private:
  std::string address_;
  std::string output_;
  std::unique_ptr<child_process> process_;
};

} // namespace reprieve
