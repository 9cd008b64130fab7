#include "apps/cli/commands.hpp"
#include "apps/cli/messages.hpp"
#include "state/quantities/quantity.hpp"
#include "state/text/nearest_name.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <string_view>
#include <thread>

namespace reprieve::cli {

namespace {

struct heartbeat_options {
  std::vector<std::string> nodes;
  std::string every; ///< a duration, to go on; empty for once
  bool last = false; ///< the agent ends
};

/// That there is no such node, and which one may be meant.
std::string no_node(api_client& server, const std::string& name) {
  std::vector<std::string_view> names;
  const auto nodes = server.get({object_kind::node, {}, {}, {}});
  if (nodes.ok())
    for (const auto& one : *nodes)
      names.emplace_back(name_of(one.what));
  const auto nearest = nearest_name(name, names);
  return nearest ? fmt::format("there is no node {}; did you mean {}?", name, *nearest)
                 : fmt::format("there is no node {}", name);
}

int heartbeat(api_client& server, const heartbeat_options& given) {
  const auto every = given.every.empty() ? duration{0} : parse_duration(given.every);
  if (!every.ok() || (!given.every.empty() && *every == duration{0}))
    return fail(bad_input,
                fmt::format("--every is '{}'; give a duration above 0 such as 10s", given.every));
  for (bool first = true;; first = false) {
    const auto unknown = server.heartbeat({given.nodes, given.last});
    // An agent outlasts a server that is away for a while, but not its own mistakes.
    const bool away =
      absl::IsUnavailable(unknown.status()) || absl::IsDeadlineExceeded(unknown.status());
    if (!unknown.ok() && (first || !away))
      return fail(unknown.status());
    if (!unknown.ok())
      fail(unknown.status());
    else if (!unknown->empty())
      return fail(failed, no_node(server, unknown->front()));
    else if (first)
      for (const auto& name : given.nodes)
        fmt::print("node/{} {}\n", name, given.last ? "not watched any more" : "heard");
    std::fflush(stdout);
    if (*every == duration{0})
      return done;
    std::this_thread::sleep_for(*every);
  }
}

} // namespace

void add_heartbeat_command(CLI::App& program, command_line& line) {
  const auto given = std::make_shared<heartbeat_options>();
  auto& command = *program.add_subcommand("heartbeat", "say that nodes are up, as their agents do");
  command.add_option("nodes", given->nodes, "that are up")->required();
  auto* every =
    command.add_option("--every", given->every, "go on, as often as this: a duration such as 10s");
  command.add_flag("--last", given->last, "the agent ends: the nodes are not watched any more")
    ->excludes(every);
  line.set_call(command, [given](api_client& server, output) { return heartbeat(server, *given); });
}

} // namespace reprieve::cli
