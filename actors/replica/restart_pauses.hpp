#pragma once

#include "state/quantities/time.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace reprieve {

/// How long a shard or coordinator that ended by itself waits before it begins anew: not at all the
/// first time, then longer each time until it has gone on for a while. The same for all who count
/// the same, so that what was played once can be played again.
class restart_pauses {
public:
  static constexpr duration first_pause{std::chrono::milliseconds{100}};
  static constexpr duration longest_pause{std::chrono::seconds{5}};
  static constexpr duration calm{std::chrono::minutes{1}}; ///< after which earlier ends don't count

  /// It has ended once more. Returns how long it waits.
  duration ended(std::string_view part, time_point now) {
    auto& known = parts_.try_emplace(std::string(part)).first->second;
    if (known.lately > 0 && now - known.last > calm)
      known.lately = 0;
    known.last = now;
    ++known.lately;
    ++known.times;
    if (known.lately == 1)
      known.until = now;
    else
      known.until =
        now + std::min(first_pause * (1 << std::min(known.lately - 2, 10)), longest_pause);
    return known.until - now;
  }

  /// How long it still has to wait.
  duration left(std::string_view part, time_point now) const {
    const auto found = parts_.find(part);
    return found == parts_.end() ? duration{0} : std::max(found->second.until - now, duration{0});
  }

  /// How often it has ended since this process began.
  std::int64_t times(std::string_view part) const {
    const auto found = parts_.find(part);
    return found == parts_.end() ? 0 : found->second.times;
  }

private:
  struct record {
    int lately = 0;
    std::int64_t times = 0;
    time_point last = no_time;
    time_point until = no_time;
  };
  std::map<std::string, record, std::less<>> parts_;
};

} // namespace reprieve
