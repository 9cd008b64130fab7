#pragma once

#include "state/quantities/time.hpp"

namespace reprieve {

/// For so long a preemption counts where a workload may only have so many (DESIGN 3.7).
inline constexpr duration counts_as_lately = std::chrono::hours{1};

} // namespace reprieve
