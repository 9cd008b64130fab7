#pragma once

#include "apps/cli/command_line.hpp"

/// The commands of the program: each adds its options, and tells `line` what it does.
namespace reprieve::cli {

// change_commands.cpp, show_commands.cpp
void add_apply_command(CLI::App& program, command_line& line);
void add_get_command(CLI::App& program, command_line& line);
void add_describe_command(CLI::App& program, command_line& line);
void add_delete_command(CLI::App& program, command_line& line);

// explain.cpp, events.cpp, heartbeat.cpp
void add_explain_command(CLI::App& program, command_line& line);
void add_events_command(CLI::App& program, command_line& line);
void add_heartbeat_command(CLI::App& program, command_line& line);

/// Runs the engine on a snapshot, without any server, and prints what it says.
void add_decide_command(CLI::App& program, command_line& line);

/// Backup, snapshot and restore.
void add_admin_commands(CLI::App& program, command_line& line);

/// Plays the machines of a whole cluster, for all replicas that are started with `--machines`,
/// until it is told to end.
void add_machines_command(CLI::App& program, command_line& line);

} // namespace reprieve::cli
