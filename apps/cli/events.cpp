#include "apps/cli/commands.hpp"
#include "apps/cli/messages.hpp"
#include "apps/cli/object_words.hpp"
#include "protocol/manifest/decision_text.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <cstdio>
#include <memory>

namespace reprieve::cli {

namespace {

int events(api_client& server, bool follow, output as) {
  const auto ended = server.events(0, follow, [&](const event& e) {
    if (as == output::table)
      fmt::print("{}", event_line(e));
    else
      fmt::print("{}\n", event_json(e));
    std::fflush(stdout);
    return true;
  });
  // A server that stops ends the stream; that is no fault of the call.
  return ended.ok() || (follow && absl::IsCancelled(ended)) ? done : fail(ended);
}

} // namespace

void add_events_command(CLI::App& program, command_line& line) {
  const auto follow = std::make_shared<bool>(false);
  auto& command = *program.add_subcommand("events", "show what happened");
  command.add_flag("-w,--watch", *follow, "keep watching");
  line.set_call(command,
                [follow](api_client& server, output as) { return events(server, *follow, as); });
}

} // namespace reprieve::cli
