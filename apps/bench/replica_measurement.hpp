#pragma once

#include "testbed/replica/whole_replica.hpp"

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace reprieve {

/// What so many workloads of one kind came to.
struct measured {
  double seconds_to_told = 0; ///< from the first request until the last order
  double seconds_to_run = 0;  ///< until the last of the new pods runs
  double cpu = 0;             ///< seconds, until all is quiet again
  double transactions = 0;
  double bytes = 0;
};

/// Has a whole replica place workloads of one pod each, and takes the time.
class replica_measurement {
public:
  explicit replica_measurement(whole_replica& all) : all_(all) {}

  /// Submits the workloads and waits for what becomes of them; `told` counts the orders that are
  /// waited for.
  absl::StatusOr<measured> run(std::string_view prefix, std::size_t count, std::int32_t priority,
                               const std::atomic<std::size_t>& told);

  /// Submits one after another, each when the pod of the one before is started: every one has a
  /// scheduling cycle of its own.
  absl::StatusOr<measured> run_one_by_one(std::string_view prefix, std::size_t count);

  /// Deletes the workloads again and waits until their pods have gone.
  absl::Status take_back(std::string_view prefix, std::size_t count);

private:
  absl::Status wait_for(const std::atomic<std::size_t>& counted, std::size_t before,
                        std::size_t count, std::string_view what) const;

  whole_replica& all_;
};

} // namespace reprieve
