#pragma once

#include "apps/daemon/daemon_options.hpp"
#include "apps/daemon/ending.hpp"

namespace reprieve {

/// Runs the replica and serves its API until `end` comes; the exit code.
int serve(const daemon_options& options, ending& end);

} // namespace reprieve
