#pragma once

#include "state/quantities/time.hpp"

namespace reprieve {

/// For so long a preemption counts where a workload may only have so many
/// (docs/policies.md#guards).
inline constexpr duration recent_preemption_window = std::chrono::hours{1};

} // namespace reprieve
