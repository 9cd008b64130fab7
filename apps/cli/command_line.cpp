#include "apps/cli/command_line.hpp"

#include "apps/cli/one_of.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <map>
#include <utility>

namespace reprieve::cli {

command_line::command_line(CLI::App& program) {
  add_connection_options(program, reached_);
  const std::map<std::string, output> outputs{
    {"table", output::table}, {"json", output::json}, {"yaml", output::yaml}};
  program
    .add_option_function<std::string>(
      "-o,--output", [this, outputs](const std::string& word) { as_ = outputs.at(word); },
      "table, json or yaml")
    ->check(one_of({"table", "json", "yaml"}));
}

void command_line::set_action(CLI::App& command, action what, check whole) {
  command.callback([this, what = std::move(what), whole = std::move(whole)] {
    if (whole)
      whole();
    given_ = what;
  });
}

void command_line::set_call(CLI::App& command, call what, check whole) {
  set_action(
    command, [this, what = std::move(what)](output as) { return connect_and(what, as); },
    std::move(whole));
}

int command_line::run() const {
  return given_(as_);
}

int command_line::connect_and(const call& what, output as) const {
  auto connection = read_connection(reached_);
  if (!connection.ok()) {
    fmt::print(stderr, "reprieve: {}\n", std::string(connection.status().message()));
    return bad_input;
  }
  api_client::silence_transport();
  api_client server{*std::move(connection)};
  return what(server, as);
}

} // namespace reprieve::cli
