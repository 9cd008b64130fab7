#pragma once

#include "state/quantities/time.hpp"
#include "state/records/workload_record.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

namespace reprieve {

/// The place of a unit among those that wait: higher priority first, then as their workloads are
/// served (`served_before`), then as the workload lists them.
struct service_place {
  std::int32_t priority = 0;
  std::int32_t workload_priority = 0;
  time_point submitted = no_time;
  std::string workload;
  std::size_t unit = 0;

  bool operator==(const service_place&) const = default;
  bool operator<(const service_place& other) const;
};

/// Behind everybody who waits.
inline const service_place behind_all{std::numeric_limits<std::int32_t>::min(),
                                      std::numeric_limits<std::int32_t>::min(),
                                      time_point::max(),
                                      {},
                                      0};

/// That of a workload's pods as a whole.
service_place place_of_work(const workload_record& record);

/// Whether both are of one workload and one priority, so that only the unit tells them apart.
bool differ_in_unit_only(const service_place& a, const service_place& b);

/// The place of a unit among those of its workload, by its first pod, so that it keeps its place
/// when others of the workload have theirs: gangs first, then by replica, group and index.
struct unit_position {
  bool gang = false;
  std::size_t replica = 0;
  std::size_t group = 0; ///< its position in the workload
  std::size_t index = 0;

  bool operator==(const unit_position&) const = default;
};

/// As a number, in the order in which they come.
std::size_t number_of(const unit_position& at);
unit_position position_of(std::size_t number);

} // namespace reprieve
