#pragma once

#include "state/time.hpp"

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>

namespace reprieve {

/// How many requests each client may make: a bucket for each, that fills steadily and holds what a
/// burst may take. Instead of how full a bucket is, it keeps the time at which it will be full.
class rate_limit {
public:
  using instant = std::chrono::steady_clock::time_point;

  /// A bucket holds what comes in two seconds, and one request at least. 0 sets no limit.
  explicit rate_limit(std::int64_t per_second);

  /// Takes one request from the client's bucket. Zero, or how long it is until there is one.
  duration take(const std::string& client, instant now);

private:
  /// So that clients who are gone take no room; a bucket that is full need not be remembered.
  void forget_full(instant now);

  duration interval_{}; ///< between two requests, in the long run
  duration burst_{};    ///< how far the time of fullness may lie ahead
  std::mutex mutex_;
  std::unordered_map<std::string, instant> full_at_;
};

} // namespace reprieve
