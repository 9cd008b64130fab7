#include "apps/cli/commands.hpp"
#include "apps/cli/explanation_text.hpp"
#include "apps/cli/messages.hpp"
#include "protocol/manifest/decision_text.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <memory>

namespace reprieve::cli {

namespace {

struct explain_options {
  std::string subject;
  std::string name;
};

int explain(api_client& server, const explain_options& given, output as) {
  const auto& [subject, name] = given;
  explain_request wanted;
  if (subject == "decision")
    wanted.decision = name;
  else if (subject == "workload")
    wanted.workload = name;
  else if (subject == "pod")
    wanted.pod = name;
  else
    return fail(bad_input,
                fmt::format("'{}' can't be explained; give decision, workload or pod", subject));
  const auto found = server.explain(wanted);
  if (!found.ok())
    return fail(found.status());
  tell_age(found->age, found->missing);
  switch (as) {
  case output::table:
    fmt::print("{}", explanation_story(*found));
    break;
  case output::json:
    fmt::print("{}", explanation_json(*found));
    break;
  case output::yaml:
    fmt::print("{}", explanation_yaml(*found));
    break;
  }
  return done;
}

} // namespace

void add_explain_command(CLI::App& program, command_line& line) {
  const auto given = std::make_shared<explain_options>();
  auto& command = *program.add_subcommand("explain", "tell why: a decision, a workload or a pod");
  command.add_option("subject", given->subject, "decision, workload or pod")->required();
  command.add_option("name", given->name)->required();
  line.set_call(command,
                [given](api_client& server, output as) { return explain(server, *given, as); });
}

} // namespace reprieve::cli
