#pragma once

#include <chrono>

namespace reprieve {

/// All instants are UTC with nanosecond resolution; the epoch itself means "not known".
using duration = std::chrono::nanoseconds;
using time_point = std::chrono::sys_time<duration>;

inline constexpr time_point no_time{};

} // namespace reprieve
