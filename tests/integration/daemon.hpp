#pragma once

#include "testbed/processes/child_process.hpp"
#include "testbed/processes/temporary_directory.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace reprieve {

/// A real `reprieved` on a free port, its data in a directory that outlives it.
class daemon_process {
public:
  /// `more` are further options of the daemon.
  explicit daemon_process(std::filesystem::path data, std::vector<std::string> more = {});

  /// Waits until it serves; false when it ends instead or takes too long.
  bool serves();

  /// As `kill -9` does.
  void kill();

  /// Ends it as an operator would; its exit code.
  int stop();

  /// The command line that talks to it.
  std::vector<std::string> command(const std::vector<std::string>& arguments) const;

  /// Runs the command line against it.
  run_result cli(const std::vector<std::string>& arguments) const;

  /// The lines of `get pods` that begin with this workload's name and have that phase.
  int pods(const std::string& workload, const std::string& phase) const;

  std::string output() const;

  /// Of the process.
  pid_t id() const {
    return process_->id();
  }

  /// Bytes of memory that it has.
  std::int64_t memory() const;

  /// Where it serves, once it does.
  const std::string& address() const {
    return address_;
  }

  /// Halts it until it is killed: it listens, and answers nobody.
  void freeze();

private:
  std::filesystem::path data_;
  std::string address_file_;
  std::string address_;
  std::unique_ptr<child_process> process_;
};

/// Whether it comes true in time.
template <class F>
bool within(std::chrono::seconds most, F condition) {
  const auto end = std::chrono::steady_clock::now() + most;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end)
      return false;
    std::this_thread::sleep_for(std::chrono::milliseconds{50});
  }
  return true;
}

/// A file of the demonstration.
std::string demo_manifest(const std::string& name);

} // namespace reprieve
