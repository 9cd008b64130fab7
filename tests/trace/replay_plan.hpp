#pragma once

#include <absl/status/statusor.h>

#include <chrono>
#include <compare>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace reprieve::trace {

using milliseconds = std::chrono::milliseconds;

/// What a pod asks for or a machine has.
struct room {
  std::int64_t cpu = 0;    ///< in thousandths
  std::int64_t memory = 0; ///< in MiB
  std::int64_t gpu = 0;    ///< whole ones

  bool holds(const room& other) const {
    return cpu >= other.cpu && memory >= other.memory && gpu >= other.gpu;
  }
  room& operator+=(const room& other);
  room& operator-=(const room& other);
  /// What is left of each where something is.
  room without_debts() const;
  auto operator<=>(const room&) const = default;
};

struct machine {
  std::string name;
  room capacity;
};

/// A pod that comes, and would run for so long if it is left alone.
struct arrival {
  std::string name;
  room asks;
  std::int32_t priority = 0;
  std::size_t queue = 0; ///< of the plan's weights
  milliseconds at{0};
  milliseconds runs_for{0};
};

/// What is replayed; `arrivals` in the order of their time.
struct replay_plan {
  std::vector<machine> machines;
  std::vector<arrival> arrivals;
  std::vector<std::int64_t> weights{1}; ///< of the queues
  milliseconds length{0};

  std::int64_t gpus() const;
};

/// How much of the trace is replayed, and on what.
struct replay_size {
  std::size_t pods = 2500;
  std::size_t every_nth_machine = 20;
  milliseconds length{std::chrono::seconds{300}};
  double load = 1.3; ///< GPU-seconds asked for, in those that the machines have
  std::vector<std::int64_t> weights{1};
};

/// From the lists of machines and pods in the directory: pods from the middle of the trace at their
/// own times, compressed to the length. Their running times are compressed so that they ask for the
/// load; none is shorter than a second or longer than the replay. QoS classes stand for priorities,
/// and pods go to the queues in turn.
absl::StatusOr<replay_plan> read_plan(const std::filesystem::path& directory,
                                      const replay_size& size);

} // namespace reprieve::trace
