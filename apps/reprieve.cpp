// The command line: reads manifests, calls the API, prints answers.

#include "apps/cli/commands.hpp"

#include <CLI/CLI.hpp>

int main(int argc, char** argv) {
  using namespace reprieve;

  CLI::App program{"reprieve: talks to a Reprieve scheduler"};
  program.require_subcommand(1);
  program.fallthrough();
  cli::command_line line{program};
  cli::add_apply_command(program, line);
  cli::add_get_command(program, line);
  cli::add_describe_command(program, line);
  cli::add_delete_command(program, line);
  cli::add_explain_command(program, line);
  cli::add_events_command(program, line);
  cli::add_heartbeat_command(program, line);
  cli::add_decide_command(program, line);
  cli::add_admin_commands(program, line);
  cli::add_machines_command(program, line);
  try {
    program.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return program.exit(error) == 0 ? cli::done : cli::bad_input;
  }
  return line.run();
}
