#pragma once

#include "actors/coordinator/scheduling_cycle.hpp"

namespace reprieve {

/// All that the coordinator decides on at this moment, for a snapshot. In the middle of a cycle,
/// what that has decided so far counts as decided.
read_group_result read_state(coordinator_pointer self);

} // namespace reprieve
