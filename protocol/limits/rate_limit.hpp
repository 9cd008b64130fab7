#pragma once

#include "state/quantities/time.hpp"

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>

namespace reprieve {

/// How much each client may have a second, of requests or bytes: a bucket for each, that fills
/// steadily and holds what a burst may take. Instead of how full a bucket is, it keeps the time at
/// which it will be full.
class rate_limit {
public:
  using instant = std::chrono::steady_clock::time_point;

  /// A bucket holds what comes in within that time, and one at least. 0 sets no limit.
  explicit rate_limit(std::int64_t per_second,
                      std::chrono::seconds saved_up = std::chrono::seconds{2});

  /// Takes one from the client's bucket. Zero, or how long it is until there is one.
  duration take(const std::string& client, instant now);

  /// Takes as much whether it is there or not: what is missing has to come in before there is any
  /// to take.
  void spend(const std::string& client, instant now, std::int64_t amount);

private:
  instant& full_at(const std::string& client, instant now);
  /// So that clients who are gone take no room; a bucket that is full need not be remembered.
  void forget_full(instant now);

  duration interval_{}; ///< in which one comes in
  duration burst_{};    ///< how far the time of fullness may lie ahead
  std::mutex mutex_;
  std::unordered_map<std::string, instant> full_at_;
};

} // namespace reprieve
