#pragma once

#include "apps/cli/command_line.hpp"

namespace reprieve::cli {

/// Adds the commands that measure on a cluster that is made up.
void add_bench_commands(CLI::App& program, command_line& line);

} // namespace reprieve::cli
