#pragma once

#include <sys/resource.h>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace reprieve {

/// Processor time that this process has used so far, or one of its threads: `RUSAGE_THREAD` for the
/// one that asks.
inline double cpu_seconds(int whose = RUSAGE_SELF) {
  rusage used{};
  getrusage(whose, &used);
  const auto of = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return of(used.ru_utime) + of(used.ru_stime);
}

inline long peak_resident_bytes() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return used.ru_maxrss * 1024;
}

/// The value below which `percent` of the sorted values lie.
inline double percentile(const std::vector<double>& sorted, std::size_t percent) {
  return sorted[std::min(sorted.size() - 1, sorted.size() * percent / 100)];
}

} // namespace reprieve
