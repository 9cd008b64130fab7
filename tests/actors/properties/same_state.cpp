#include "tests/actors/properties/same_state.hpp"

#include "protocol/manifest/manifest_reader.hpp"
#include "protocol/manifest/snapshot_manifests.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>

namespace reprieve::tests {

namespace {

/// The differences found so far, a line each.
class findings {
public:
  template <class T>
  void compare(std::string_view what, const T& read, const T& live) {
    if (!(read == live))
      add(fmt::format("{} is another", what));
  }
  void compare(std::string_view what, std::span<const std::int64_t> read,
               std::span<const std::int64_t> live) {
    if (!std::ranges::equal(read, live))
      add(fmt::format("{} is another", what));
  }
  void add(const std::string& line) {
    text_ += line + '\n';
  }
  const std::string& text() const {
    return text_;
  }

private:
  std::string text_;
};

void compare_pods(findings& out, const snapshot& taken, const cluster_view& read,
                  const cluster_view& live) {
  out.compare("the number of pods", read.pod_count(), live.pod_count());
  for (const auto& p : taken.pods()) {
    const auto here = read.find_pod(p.uid);
    const auto there = live.find_pod(p.uid);
    if (here == no_row || there == no_row) {
      out.add(fmt::format("pod {} is not in both", p.uid));
      continue;
    }
    const auto of = [&](std::string_view what) { return fmt::format("{} of pod {}", what, p.uid); };
    out.compare(of("node"), read.node_name(read.node_of(here)),
                live.node_name(live.node_of(there)));
    out.compare(of("phase"), read.phase(here), live.phase(there));
    out.compare(of("leaving"), read.leaving(here), live.leaving(there));
    out.compare(of("priority"), read.priority(here), live.priority(there));
    out.compare(of("requests"), read.requests(here), live.requests(there));
    out.compare(of("daemon"), read.is_daemon(here), live.is_daemon(there));
    out.compare(of("opt-out"), read.opted_out(here), live.opted_out(there));
    out.compare(of("creation"), read.created(here), live.created(there));
    out.compare(of("start"), read.started(here), live.started(there));
    out.compare(of("checkpoint"), read.checkpointed(here), live.checkpointed(there));
    out.compare(of("owner"), read.owner(here), live.owner(there));
    if (!live.leaving(there))
      out.compare(of("portion"), read.card(read.portion_of(here)),
                  live.card(live.portion_of(there)));
  }
}

void compare_nodes(findings& out, const cluster_view& read, const cluster_view& live) {
  out.compare("the number of nodes", read.node_count(), live.node_count());
  for (node_row n = 0; n < live.node_rows(); ++n) {
    if (!live.present(n))
      continue;
    const auto name = live.node_name(n);
    const auto here = read.find_node(name);
    if (here == no_row) {
      out.add(fmt::format("node {} is missing", name));
      continue;
    }
    out.compare(fmt::format("node {}", name), read.node_at(here), live.node_at(n));
    out.compare(fmt::format("the capacity of {}", name), read.capacity(here), live.capacity(n));
    out.compare(fmt::format("what is free on {}", name), read.free(here), live.free(n));
    out.compare(fmt::format("what is promised on {}", name), read.promised(here), live.promised(n));
  }
}

void compare_budgets(findings& out, const cluster_view& read, const cluster_view& live) {
  out.compare("the number of budgets", read.budget_rows(), live.budget_rows());
  for (std::uint32_t row = 0; row < std::min(read.budget_rows(), live.budget_rows()); ++row) {
    out.compare("a budget", read.budget_at(row), live.budget_at(row));
    out.compare(fmt::format("what budget {} allows", live.budget_at(row).name),
                read.disruptions_allowed(row), live.disruptions_allowed(row));
  }
}

/// What each of those who wait would get, alone, and from whom.
void compare_decisions(findings& out, const snapshot& taken, cluster_view read, group_mirror& live,
                       const plan_settings& settings) {
  const auto waiting = live.line().in_order();
  const auto known = taken.pending(settings.group.name);
  out.compare("how many wait", known.size(), waiting.size());
  const auto holds = taken.holds(settings.group.name);
  for (std::size_t i = 0; i < std::min(known.size(), waiting.size()); ++i) {
    const auto& who = *waiting[i].who;
    out.compare(fmt::format("{}, the {}th who waits,", who.workload, i), known[i], who);
    const auto theirs =
      decide_over_holds(live.changeable_view(), who, settings, live.holds_below(who.priority));
    const auto ours = decide_over_holds(read, known[i], settings, holds);
    const auto of = [&](std::string_view what) {
      return fmt::format("{} of {}", what, who.workload);
    };
    out.compare(of("the placement"), ours.made.assignments, theirs.made.assignments);
    out.compare(of("the victims"), ours.made.victims, theirs.made.victims);
    out.compare(of("what is given up in favour"), ours.gives_up, theirs.gives_up);
  }
}

} // namespace

absl::StatusOr<snapshot> written_and_read(const cluster_snapshot& of) {
  snapshot_manifests text{std::make_shared<const cluster_snapshot>(of)};
  std::string whole;
  constexpr std::size_t some = 4096;
  for (auto part = text.next(some); !part.empty(); part = text.next(some))
    whole += part;
  auto found = read_manifests(whole, "snapshot.yaml", {.snapshot = true});
  if (!found.ok())
    return found.status();
  std::vector<snapshot::entry> entries;
  for (auto& one : *found)
    entries.push_back({std::move(one.value), std::move(one.status), one.given});
  return snapshot::of(std::move(entries));
}

absl::StatusOr<snapshot> taken_from(const cluster_snapshot& of) {
  std::vector<snapshot::entry> entries;
  for (const auto& [name, one] : of.known->classes)
    entries.push_back({one, {}, {}});
  for (const auto& [name, one] : of.known->queues) {
    const auto* status = find(of.queues, name);
    entries.push_back({one, status == nullptr ? object_status{} : object_status{*status}, {}});
  }
  for (const auto& [name, one] : of.known->groups)
    for (const auto& group : of.groups)
      if (group.name == name)
        entries.push_back({one, group.status, {}});
  std::set<std::string_view> names;
  const pod_manifest_fields all{true, true, true, true, true, true};
  for (const auto& group : of.groups) {
    for (const auto& one : group.budgets)
      entries.push_back({one, {}, {}});
    for (const auto& one : group.workloads) {
      names.insert(one->spec->name);
      entries.push_back({*one->spec, course_of(*one), {}});
    }
    for (const auto& one : group.nodes) {
      entries.push_back({*one->spec, one->status, {}});
      for (const auto& p : one->pods)
        entries.push_back({p, {}, all});
    }
  }
  for (const auto& one : of.placements)
    if (names.contains(one.deployment))
      entries.push_back({one, {}, {}});
  return snapshot::of(std::move(entries));
}

std::string difference(const snapshot& read, group_mirror& live, const plan_settings& settings) {
  findings out;
  const auto view = read.view_of(settings.group.name);
  compare_nodes(out, view, live.view());
  compare_pods(out, read, view, live.view());
  compare_budgets(out, view, live.view());
  for (const auto& [name, record] : read.workloads())
    if (const auto known = live.find_workload(name); !known || !(record == *known))
      out.add(fmt::format("workload {} is another", name));
  compare_decisions(out, read, read.view_of(settings.group.name), live, settings);
  return out.text();
}

} // namespace reprieve::tests
