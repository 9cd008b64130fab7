// Commands that show objects: get and describe.

#include "apps/cli/commands.hpp"
#include "apps/cli/messages.hpp"
#include "apps/cli/object_rows.hpp"
#include "apps/cli/object_words.hpp"
#include "protocol/manifest/manifest_writer.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <span>
#include <utility>

namespace reprieve::cli {

namespace {

struct get_options {
  std::string kind;
  get_request wanted;
};

struct describe_options {
  std::string kind;
  std::string name;
};

std::string manifest_text(const shown_object& shown, output as) {
  const bool yaml = as == output::yaml;
  if (const auto* w = std::get_if<workload>(&shown.what); w != nullptr && shown.workload)
    return yaml ? write_yaml(*w, *shown.workload) : write_json(*w, *shown.workload);
  if (const auto* n = std::get_if<node>(&shown.what); n != nullptr && shown.node)
    return yaml ? write_yaml(*n, *shown.node) : write_json(*n, *shown.node);
  if (const auto* q = std::get_if<queue>(&shown.what); q != nullptr && shown.queue)
    return yaml ? write_yaml(*q, *shown.queue) : write_json(*q, *shown.queue);
  return yaml ? write_yaml(shown.what) : write_json(shown.what);
}

/// One manifest, or all of them as one YAML stream or one JSON list.
void print_manifests(const std::vector<shown_object>& objects, bool single, output as) {
  std::string text;
  if (single && objects.size() == 1) {
    text = manifest_text(objects.front(), as);
  } else if (as == output::yaml) {
    for (const auto& one : objects)
      text += (text.empty() ? "" : "---\n") + manifest_text(one, as);
  } else {
    for (const auto& one : objects)
      text += (text.empty() ? "" : ",\n") + manifest_text(one, as);
    text = "{\"apiVersion\": \"reprieve/v1\", \"kind\": \"List\", \"items\": [\n" + text + "]}\n";
  }
  fmt::print("{}", text);
}

/// Says on the side of a list what is missing in it.
void tell_unreadable(const shown_objects& found, object_kind kind) {
  constexpr std::size_t most_named = 10;
  if (found.unreadable.empty())
    return;
  const auto named =
    std::span(found.unreadable).first(std::min(most_named, found.unreadable.size()));
  const auto others = found.unreadable_in_all - named.size();
  const auto names = for_terminal(fmt::format("{}", fmt::join(named, ", ")));
  fmt::print(stderr,
             "reprieve: left out, as their records can't be read: {}{}; `reprieve describe {} {}` "
             "says why\n",
             names, others == 0 ? "" : fmt::format(" and {} more", others), to_string(kind),
             for_terminal(named.front()));
}

int get(api_client& server, const get_options& given, output as) {
  const auto known = kind_named(given.kind);
  if (!known.ok())
    return fail(known.status());
  const auto& wanted = given.wanted;
  auto request = wanted;
  request.kind = *known;
  const auto found = server.get(request);
  if (!found.ok())
    return fail(found.status());
  tell_age(found->age);
  tell_unreadable(*found, *known);
  if (as != output::table) {
    print_manifests(found->objects, !wanted.name.empty(), as);
    return done;
  }
  std::vector<shown_object> pods;
  get_request theirs{object_kind::pod, {}, wanted.resource_group, {}};
  (*known == object_kind::node ? theirs.node : theirs.workload) = wanted.name;
  if (*known == object_kind::node || *known == object_kind::workload)
    if (auto all = server.get(theirs); all.ok())
      pods = std::move(all->objects);
  fmt::print("{}", object_table(*known, found->objects, pods));
  return done;
}

int describe(api_client& server, const describe_options& given, output as) {
  const auto known = kind_named(given.kind);
  if (!known.ok())
    return fail(known.status());
  const auto found = server.describe({*known, given.name});
  if (!found.ok())
    return fail(found.status());
  tell_age(found->age, found->missing);
  if (as != output::table) {
    print_manifests({found->what}, true, as);
    return done;
  }
  fmt::print("{}", manifest_text(found->what, output::yaml));
  if (!found->pods.empty()) {
    std::vector<shown_object> pods;
    for (const auto& p : found->pods)
      pods.push_back({p, {}, {}});
    fmt::print("\nPods:\n{}", object_table(object_kind::pod, pods, {}));
    if (found->pods_in_all > found->pods.size())
      fmt::print("and {} more: see get pods with --node or --workload\n",
                 found->pods_in_all - found->pods.size());
  }
  if (!found->decisions.empty()) {
    fmt::print("\nDecisions, newest first:\n");
    for (const auto& d : found->decisions)
      fmt::print("  {}  [{}]  {}\n", d.id, to_string(d.phase), d.why.summary);
  }
  if (!found->events.empty()) {
    fmt::print("\nEvents:\n");
    for (const auto& e : found->events)
      fmt::print("{}", event_line(e));
  }
  return done;
}

} // namespace

void add_get_command(CLI::App& program, command_line& line) {
  const auto given = std::make_shared<get_options>();
  auto& command = *program.add_subcommand("get", "show objects");
  command.add_option("kind", given->kind, "such as nodes, workloads, pods")->required();
  command.add_option("name", given->wanted.name, "only this one");
  command.add_option("--group", given->wanted.resource_group, "only of this resource group");
  command.add_option("--queue", given->wanted.queue, "only of this queue");
  command.add_option("--node", given->wanted.node, "only pods on this node");
  command.add_option("--workload", given->wanted.workload, "only pods of this workload");
  line.set_call(command,
                [given](api_client& server, output as) { return get(server, *given, as); });
}

void add_describe_command(CLI::App& program, command_line& line) {
  const auto given = std::make_shared<describe_options>();
  auto& command =
    *program.add_subcommand("describe", "show one object with all that belongs to it");
  command.add_option("kind", given->kind)->required();
  command.add_option("name", given->name)->required();
  line.set_call(command,
                [given](api_client& server, output as) { return describe(server, *given, as); });
}

} // namespace reprieve::cli
