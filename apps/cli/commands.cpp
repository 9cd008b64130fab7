#include "apps/cli/commands.hpp"

#include "apps/cli/explanation_text.hpp"
#include "apps/cli/object_rows.hpp"
#include "protocol/manifest/decision_text.hpp"
#include "protocol/manifest/manifest_reader.hpp"
#include "protocol/manifest/manifest_writer.hpp"
#include "state/quantities/quantity.hpp"
#include "state/text/nearest_name.hpp"
#include "state/text/printable.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <set>
#include <span>
#include <string_view>
#include <thread>

namespace reprieve::cli {

namespace {

/// What a server sends may quote what anybody wrote, and be of an earlier version that leaves it as
/// it is.
std::string for_terminal(std::string_view sentence) {
  constexpr std::size_t most = 64 << 10;
  return printable(sentence, most);
}

int fail(int code, std::string_view message) {
  fmt::print(stderr, "reprieve: {}\n", for_terminal(message));
  return code;
}

/// What the server refused because it was asked wrongly is bad input, too.
int fail(const absl::Status& why) {
  return fail(absl::IsInvalidArgument(why) ? bad_input : failed, std::string(why.message()));
}

absl::StatusOr<object_kind> kind_named(const std::string& text) {
  if (const auto kind = kind_from(text))
    return *kind;
  return absl::InvalidArgumentError(
    fmt::format("'{}' is no kind of object; give node, queue, priorityclass, resourcegroup, "
                "workload, placement, disruptionbudget or pod",
                text));
}

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

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
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

void print_event(const event& e) {
  fmt::print("{}  {:<12} {}/{}  {}\n", format_time(e.at), e.type, lower(e.kind), e.name, e.message);
}

/// That an answer may not be the newest, where that is so, and what it lacks.
void tell_age(duration age, const std::string& missing = {}) {
  if (age > duration{0})
    fmt::print(stderr, "reprieve: this is {} old: who owns it does not answer\n",
               format_duration(std::chrono::round<std::chrono::milliseconds>(age)));
  if (!missing.empty())
    fmt::print(stderr, "reprieve: {}\n", for_terminal(missing));
}

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

} // namespace

int apply(api_client& server, const std::vector<std::string>& files, bool dry_run, output as) {
  auto objects = read_files(files);
  if (!objects.ok())
    return fail(bad_input, std::string(objects.status().message()));
  const apply_request wanted{*std::move(objects), dry_run};
  const auto outcomes = server.apply(wanted);
  if (!outcomes.ok())
    return fail(outcomes.status());
  std::string lines;
  for (std::size_t i = 0; i < wanted.objects.size() && i < outcomes->size(); ++i) {
    const auto& o = wanted.objects[i];
    const auto kind = lower(to_string(kind_of(o)));
    const auto word = word_for((*outcomes)[i]);
    if (as == output::table)
      lines += fmt::format("{}/{} {}{}\n", kind, name_of(o), word, dry_run ? " (dry run)" : "");
    else if (as == output::yaml)
      lines += fmt::format("- kind: {}\n  name: {}\n  outcome: {}\n", kind, name_of(o), word);
    else
      lines += fmt::format("{}  {{\"kind\": \"{}\", \"name\": \"{}\", \"outcome\": \"{}\"}}",
                           lines.empty() ? "" : ",\n", kind, name_of(o), word);
  }
  fmt::print("{}", as == output::json ? "[\n" + lines + "\n]\n" : lines);
  return done;
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

int get(api_client& server, const std::string& kind, const get_request& wanted, output as) {
  const auto known = kind_named(kind);
  if (!known.ok())
    return fail(known.status());
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

int describe(api_client& server, const std::string& kind, const std::string& name, output as) {
  const auto known = kind_named(kind);
  if (!known.ok())
    return fail(known.status());
  const auto found = server.describe({*known, name});
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
      print_event(e);
  }
  return done;
}

/// What goes together is of one kind. Users go before what they use.
static std::vector<delete_request> requests_to_delete(const std::vector<object>& objects) {
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
static absl::Status remove_what_is_there(api_client& server, delete_request& wanted) {
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

int remove(api_client& server, const std::string& kind, std::vector<std::string> names,
           const std::vector<std::string>& files, bool force) {
  std::vector<delete_request> requests;
  if (!files.empty()) {
    const auto objects = read_files(files);
    if (!objects.ok())
      return fail(bad_input, std::string(objects.status().message()));
    requests = requests_to_delete(*objects);
  } else {
    const auto known = kind_named(kind);
    if (!known.ok())
      return fail(known.status());
    requests.push_back({*known, std::move(names)});
  }
  for (auto& request : requests) {
    request.force = force;
    if (auto removed =
          files.empty() ? server.remove(request) : remove_what_is_there(server, request);
        !removed.ok())
      return fail(removed);
    for (const auto& name : request.names)
      fmt::print("{}/{} deleted\n", lower(to_string(request.kind)), name);
  }
  return done;
}

int explain(api_client& server, const std::string& subject, const std::string& name, output as) {
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

int heartbeat(api_client& server, const std::vector<std::string>& nodes,
              const heartbeat_options& options) {
  const auto every = options.every.empty() ? duration{0} : parse_duration(options.every);
  if (!every.ok() || (!options.every.empty() && *every == duration{0}))
    return fail(bad_input,
                fmt::format("--every is '{}'; give a duration above 0 such as 10s", options.every));
  for (bool first = true;; first = false) {
    const auto unknown = server.heartbeat({nodes, options.last});
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
      for (const auto& name : nodes)
        fmt::print("node/{} {}\n", name, options.last ? "not watched any more" : "heard");
    std::fflush(stdout);
    if (*every == duration{0})
      return done;
    std::this_thread::sleep_for(*every);
  }
}

int events(api_client& server, bool follow, output as) {
  const auto ended = server.events(0, follow, [&](const event& e) {
    if (as == output::table)
      print_event(e);
    else
      fmt::print("{}\n", event_json(e));
    std::fflush(stdout);
    return true;
  });
  // A server that stops ends the stream; that is no fault of the call.
  return ended.ok() || (follow && absl::IsCancelled(ended)) ? done : fail(ended);
}

} // namespace reprieve::cli
