#pragma once

#include "state/quantities/time.hpp"

#include <ctime>

namespace reprieve {

/// Time since the machine started, suspended time included: what a lease is counted on, because
/// the other side goes on counting while this machine sleeps.
inline duration boot_time() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

} // namespace reprieve
