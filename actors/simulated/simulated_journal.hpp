#pragma once

#include "state/quantities/resources.hpp"
#include "state/quantities/time.hpp"
#include "state/store/store.hpp"

#include <absl/status/status.h>

#include <cstdio>
#include <map>
#include <memory>
#include <string>

namespace reprieve {

/// What the simulated cluster did, a line of JSON for each step, so that it outlives the process
/// that plays it. Tests read it as the cluster's own account of who was started and stopped.
class simulated_journal {
public:
  enum class stage { starting, running, stopping, stopped, succeeded };

  /// A pod as its newest line leaves it.
  struct entry {
    std::string uid;
    std::string node;
    std::string decision; ///< that stopped it
    stage at = stage::starting;
    time_point since = no_time;
    duration run_for{0};    ///< 0: until it is stopped
    duration stop_takes{0}; ///< once it is told
    duration stuck_for{0};  ///< longest that it stays even when killed
    revision epoch = 0;
    std::string workload;
    resources requests;
    bool given_up = false; ///< nobody counts on it any more, as its machine was lost
    // Of replicas that the cluster's own scheduler counts:
    bool counted = false;
    std::int32_t ordinal = 0;
    time_point created = no_time;
    time_point told = no_time; ///< when it began to terminate
    duration grace{0};
    bool forced = false; ///< was taken away by force
  };

  /// Whether the file can be kept there, else why not.
  static absl::Status check(const std::string& path);

  /// Opens the file for more lines, or keeps nothing where the path is empty.
  explicit simulated_journal(const std::string& path);

  void write(const entry& line);

  /// The newest line of every pod in the file; lines that were cut off, or can't be read, are
  /// passed over.
  static std::map<std::string, entry> read(const std::string& path);

private:
  struct closer {
    void operator()(std::FILE* file) const {
      std::fclose(file);
    }
  };
  std::unique_ptr<std::FILE, closer> file_;
};

} // namespace reprieve
