#pragma once

#include "state/quantities/time.hpp"

#include <atomic>
#include <chrono>
#include <ctime>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace reprieve::replicas {

inline time_point time_of_day() {
  return std::chrono::time_point_cast<duration>(std::chrono::system_clock::now());
}

/// How long this machine let a thread wait that was due or had something to do: what others do with
/// the processors is not the fault of those who are measured.
class stall_meter {
public:
  stall_meter() : thread_([this] { run(); }) {}

  ~stall_meter() {
    over_ = true;
    thread_.join();
  }

  stall_meter(const stall_meter&) = delete;
  stall_meter& operator=(const stall_meter&) = delete;

  /// All of it between the two times.
  duration between(time_point from, time_point to) const {
    const std::lock_guard lock(mutex_);
    duration all{0};
    for (const auto& [when, late] : stalls_)
      if (when >= from && when - late <= to)
        all += late;
    return all;
  }

private:
  void run() {
    using clock = std::chrono::steady_clock;
    constexpr std::chrono::milliseconds nap{10};
    constexpr std::chrono::milliseconds work{1};
    constexpr std::chrono::milliseconds usual{3}; // what a machine at rest takes to wake up
    while (!over_) {
      const auto began = clock::now();
      std::this_thread::sleep_for(nap);
      for (const auto until = processor_time() + work; processor_time() < until;) {
      }
      const auto late = clock::now() - began - nap - work;
      if (late < usual)
        continue;
      const std::lock_guard lock(mutex_);
      stalls_.emplace_back(time_of_day(), std::chrono::duration_cast<duration>(late));
    }
  }

  /// That this thread had.
  static duration processor_time() {
    timespec had{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &had);
    return std::chrono::seconds{had.tv_sec} + std::chrono::nanoseconds{had.tv_nsec};
  }

  mutable std::mutex mutex_;
  std::vector<std::pair<time_point, duration>> stalls_; ///< when each ended
  std::atomic<bool> over_ = false;
  std::thread thread_;
};

} // namespace reprieve::replicas
