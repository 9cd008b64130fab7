#pragma once

#include "state/model/slot_list.hpp"
#include "state/model/workload.hpp"

#include <utility>
#include <vector>

namespace reprieve {

/// What has come of a workload, all of it.
struct workload_course : workload_status {
  std::vector<slot_record> slots; ///< as in its record
  bool deleting = false;          ///< its pods are to stop, then it goes

  workload_course() = default;
  workload_course(workload_status status) // NOLINT: of one that nothing more is known of
      : workload_status(std::move(status)) {}

  bool operator==(const workload_course&) const = default;
};

} // namespace reprieve
