// Commands that change objects: apply and delete.

#include "apps/cli/commands.hpp"
#include "apps/cli/messages.hpp"
#include "apps/cli/object_words.hpp"
#include "protocol/manifest/manifest_reader.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <array>
#include <memory>
#include <set>
#include <string_view>
#include <utility>

namespace reprieve::cli {

namespace {

struct apply_options {
  std::vector<std::string> files;
  bool dry_run = false;
};

struct delete_options {
  std::string kind;
  std::vector<std::string> names;
  std::vector<std::string> files; ///< in place of kind and names
  bool force = false;
};

/// All objects of all files, or the first error.
absl::StatusOr<std::vector<object>> read_files(const std::vector<std::string>& files) {
  std::vector<object> objects;
  for (const auto& file : files) {
    auto read = read_manifest_file(file);
    if (!read.ok())
      return read.status();
    for (auto& one : *read)
      objects.push_back(std::move(one.value));
  }
  return objects;
}

std::string_view word_for(apply_outcome outcome) {
  switch (outcome) {
  case apply_outcome::created:
    return "created";
  case apply_outcome::configured:
    return "configured";
  case apply_outcome::unchanged:
    break;
  }
  return "unchanged";
}

int apply(api_client& server, const apply_options& given, output as) {
  auto objects = read_files(given.files);
  if (!objects.ok())
    return fail(bad_input, objects.status());
  const apply_request wanted{*std::move(objects), given.dry_run};
  const auto outcomes = server.apply(wanted);
  if (!outcomes.ok())
    return fail(outcomes.status());
  std::string lines;
  for (std::size_t i = 0; i < wanted.objects.size() && i < outcomes->size(); ++i) {
    const auto& o = wanted.objects[i];
    const auto kind = lower(to_string(kind_of(o)));
    const auto word = word_for((*outcomes)[i]);
    if (as == output::table)
      lines +=
        fmt::format("{}/{} {}{}\n", kind, name_of(o), word, given.dry_run ? " (dry run)" : "");
    else if (as == output::yaml)
      lines += fmt::format("- kind: {}\n  name: {}\n  outcome: {}\n", kind, name_of(o), word);
    else
      lines += fmt::format("{}  {{\"kind\": \"{}\", \"name\": \"{}\", \"outcome\": \"{}\"}}",
                           lines.empty() ? "" : ",\n", kind, name_of(o), word);
  }
  fmt::print("{}", as == output::json ? "[\n" + lines + "\n]\n" : lines);
  return done;
}

/// What goes together is of one kind. Users go before what they use.
std::vector<delete_request> requests_to_delete(const std::vector<object>& objects) {
  constexpr std::array order{object_kind::pod,
                             object_kind::placement,
                             object_kind::disruption_budget,
                             object_kind::workload,
                             object_kind::node,
                             object_kind::queue,
                             object_kind::priority_class,
                             object_kind::resource_group};
  std::vector<delete_request> requests;
  for (const auto kind : order) {
    delete_request wanted{kind, {}};
    for (const auto& one : objects)
      if (kind_of(one) == kind)
        wanted.names.push_back(name_of(one));
    if (!wanted.names.empty())
      requests.push_back(std::move(wanted));
  }
  return requests;
}

/// Of those that go with a file some may have gone before, when that was tried already.
absl::Status remove_what_is_there(api_client& server, delete_request& wanted) {
  constexpr int most_tried = 3; // others may delete some meanwhile
  auto removed = server.remove(wanted);
  for (int tried = 1; tried < most_tried && absl::IsNotFound(removed); ++tried) {
    const auto found = server.get({wanted.kind, {}, {}, {}});
    if (!found.ok() || found->age > duration{0})
      return removed;
    std::set<std::string_view> there;
    for (const auto& one : *found)
      there.insert(name_of(one.what));
    std::erase_if(wanted.names, [&](const std::string& name) {
      if (there.contains(name))
        return false;
      fmt::print("{}/{} is not there\n", lower(to_string(wanted.kind)), name);
      return true;
    });
    removed = wanted.names.empty() ? absl::OkStatus() : server.remove(wanted);
  }
  return removed;
}

int remove(api_client& server, const delete_options& given) {
  std::vector<delete_request> requests;
  if (!given.files.empty()) {
    const auto objects = read_files(given.files);
    if (!objects.ok())
      return fail(bad_input, objects.status());
    requests = requests_to_delete(*objects);
  } else {
    const auto known = kind_named(given.kind);
    if (!known.ok())
      return fail(known.status());
    requests.push_back({*known, given.names});
  }
  for (auto& request : requests) {
    request.force = given.force;
    if (auto removed =
          given.files.empty() ? server.remove(request) : remove_what_is_there(server, request);
        !removed.ok())
      return fail(removed);
    for (const auto& name : request.names)
      fmt::print("{}/{} deleted\n", lower(to_string(request.kind)), name);
  }
  return done;
}

} // namespace

void add_apply_command(CLI::App& program, command_line& line) {
  const auto given = std::make_shared<apply_options>();
  auto& command =
    *program.add_subcommand("apply", "add or change the objects of manifests, all or none");
  command.add_option("-f,--file", given->files, "YAML or JSON file")->required();
  command.add_flag("--dry-run", given->dry_run, "check only");
  line.set_call(command,
                [given](api_client& server, output as) { return apply(server, *given, as); });
}

void add_delete_command(CLI::App& program, command_line& line) {
  const auto given = std::make_shared<delete_options>();
  auto& command = *program.add_subcommand("delete", "delete objects");
  command.add_option("-f,--file", given->files, "delete the objects of these manifests");
  command.add_flag(
    "--force", given->force,
    "nodes with the pods on them: these are given up for lost, and come back elsewhere");
  command.add_option("kind", given->kind);
  command.add_option("names", given->names);
  line.set_call(
    command, [given](api_client& server, output) { return remove(server, *given); },
    [given] {
      if (given->files.empty() && (given->kind.empty() || given->names.empty()))
        throw CLI::ValidationError("delete", "give a kind and names, or manifests with -f");
    });
}

} // namespace reprieve::cli
