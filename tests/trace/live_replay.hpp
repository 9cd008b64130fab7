#pragma once

#include "tests/trace/outcome.hpp"

#include <absl/status/statusor.h>

#include <string>

namespace reprieve::trace {

/// Replays the plan in real time against a daemon of its own with simulated machines. What happened
/// is read from the journal of those machines; who waits while it fits is looked for twice a second
/// in what the API shows.
absl::StatusOr<outcome> replay_live(const replay_plan& plan);

} // namespace reprieve::trace
