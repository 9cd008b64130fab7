#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace reprieve {

/// A program that is started from here: its output goes to a file, and it dies with this one at the
/// latest.
class child_process {
public:
  /// Starts it; `output` gets what it prints, standard error included.
  child_process(std::vector<std::string> command, const std::string& output);
  ~child_process();

  child_process(const child_process&) = delete;
  child_process& operator=(const child_process&) = delete;

  /// Sends a signal; does nothing once it has ended.
  void signal(int number);

  /// Halts it, all of its threads, until it is killed.
  void freeze();

  /// Kills it at once.
  void kill();

  /// The exit code, or -1 where it was killed or does not end in time (then it is killed).
  int wait(std::chrono::milliseconds most);

  bool running();

  /// Of the process, 0 once it has ended.
  pid_t id() const {
    return process_;
  }

private:
  pid_t process_ = 0;
  int status_ = 0;
};

/// A program's exit code and all it printed.
struct run_result {
  int code = -1;
  std::string output;
};

/// Runs a program to its end.
run_result run_program(const std::vector<std::string>& command,
                       std::chrono::milliseconds most = std::chrono::seconds{60});

/// The whole file, empty where there is none.
std::string file_contents(const std::string& path);

} // namespace reprieve
