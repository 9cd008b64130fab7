#pragma once

#include "tests/trace/replay_plan.hpp"

#include <cstdint>
#include <string>

namespace reprieve::trace {

/// How machines behave, simulated or played by the daemon: the same for all that are compared.
inline constexpr milliseconds start_takes{200};
inline constexpr milliseconds stop_takes{500};
/// Until what was preempted may be placed again; doubles with each time.
inline constexpr milliseconds first_backoff{1000};

/// What a replay came to.
struct outcome {
  std::int64_t preemptions = 0;             ///< pods that were stopped for others
  double gpu_seconds_lost = 0;              ///< that those had run for
  milliseconds longest_fitting{0};          ///< longest time that a pod waited while it fitted
  std::string who_fitted{};                 ///< that pod
  std::int64_t starts = 0;                  ///< pods that got a place, each time counted
  double gpu_seconds_used = 0;              ///< of pods that ran, whatever became of them
  std::int64_t stopped_within_a_second = 0; ///< of the preemptions

  void add_stop(const room& asks, milliseconds ran);
};

inline void outcome::add_stop(const room& asks, milliseconds ran) {
  ++preemptions;
  gpu_seconds_lost += static_cast<double>(asks.gpu * ran.count()) / 1000;
  stopped_within_a_second += ran < milliseconds{1000} ? 1 : 0;
}

} // namespace reprieve::trace
