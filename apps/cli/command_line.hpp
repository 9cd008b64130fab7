#pragma once

#include "apps/cli/connection.hpp"
#include "apps/cli/output.hpp"

#include <functional>

namespace CLI {
class App;
}

namespace reprieve::cli {

/// The options that go with every command, and what the command that is given does.
class command_line {
public:
  /// What a command does; the exit code.
  using action = std::function<int(output)>;
  /// Likewise, of a command that asks a server.
  using call = std::function<int(api_client&, output)>;
  /// Throws `CLI::ValidationError` where options that are good by themselves do not go together.
  using check = std::function<void()>;

  /// Adds the options to the program. What they say is kept here, so this is not moved.
  explicit command_line(CLI::App& program);
  command_line(const command_line&) = delete;
  command_line& operator=(const command_line&) = delete;

  /// Says what a command does that needs no server.
  void set_action(CLI::App& command, action what, check whole = {});
  /// Says what a command does that is given a connection to the server.
  void set_call(CLI::App& command, call what, check whole = {});

  /// Does what was given, once the program's arguments are parsed; the exit code.
  int run() const;

private:
  int connect_and(const call& what, output as) const;

  output as_ = output::table;
  connection_options reached_;
  action given_;
};

} // namespace reprieve::cli
