#include "apps/cli/commands.hpp"
#include "apps/cli/one_of.hpp"
#include "apps/cli/plan_text.hpp"
#include "preemption/snapshot/lifecycle_snapshot.hpp"
#include "preemption/snapshot/snapshot_cycle.hpp"
#include "protocol/manifest/manifest_reader.hpp"
#include "state/quantities/quantity.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>

namespace reprieve::cli {

namespace {

/// What the command ends with where there is no plan.
constexpr int infeasible = 3;

struct decide_request {
  std::vector<std::string> files;
  std::string preemptor; ///< a workload or a pod; empty for everything that waits
  std::string policy;    ///< in place of the resource group's
  std::string now;       ///< as in manifests; the clock's where it is empty
  bool all = false;      ///< the whole cycle
  bool like_kubernetes = false;
};

int refuse(const absl::Status& why) {
  fmt::print(stderr, "reprieve: {}\n", std::string(why.message()));
  return bad_input;
}

absl::StatusOr<snapshot> read(const std::vector<std::string>& files) {
  std::vector<snapshot::entry> entries;
  for (const auto& file : files) {
    auto found = read_manifest_file(file, {.snapshot = true});
    if (!found.ok())
      return found.status();
    for (auto& one : *found)
      entries.push_back({std::move(one.value), std::move(one.status), one.given});
  }
  return snapshot::of(std::move(entries));
}

absl::StatusOr<time_point> time_of(const decide_request& wanted) {
  if (wanted.now.empty())
    return std::chrono::system_clock::now();
  auto now = parse_time(wanted.now);
  if (!now.ok())
    return absl::InvalidArgumentError(
      fmt::format("--now: {}", std::string(now.status().message())));
  return now;
}

/// Whether the lifecycle phase decides for the workload: a deployment, where that was asked for or
/// its resource group has that policy. Other kinds go by pods even there.
bool goes_by_lifecycle(const decide_request& wanted, const snapshot& taken,
                       std::string_view workload) {
  const auto found = taken.workloads().find(workload);
  if (found == taken.workloads().end() || found->second.spec->kind != workload_kind::deployment)
    return false;
  if (!wanted.policy.empty())
    return wanted.policy == "lifecycle";
  return taken.settings_of(found->second.spec->resource_group).policy == group_policy::lifecycle;
}

plan_settings settings_for(const decide_request& wanted, const snapshot& taken,
                           const std::string& group, time_point now) {
  plan_settings settings;
  settings.group = taken.settings_of(group);
  settings.group.name = group;
  settings.now = now;
  settings.recent_preemptions = taken.recent_preemptions(now);
  if (wanted.policy == "workload-aware")
    settings.group.policy = group_policy::workload_aware;
  else if (wanted.policy == "sessions")
    settings.group.policy = group_policy::sessions;
  if (wanted.like_kubernetes)
    settings.placing = placing_rule::plain;
  return settings;
}

/// What the phase finds for those that seek replicas, on what the cycle before it leaves.
lifecycle_plan run_lifecycle(const snapshot& taken, const snapshot_cycle& before,
                             const std::function<bool(std::string_view)>& seeks, time_point now) {
  return preempt_by_lifecycle(before.whole_view(), lifecycle_of(taken, seeks, now));
}

void serve_alone(snapshot_cycle& cycle, std::vector<preemptor> waiting,
                 const plan_settings& settings) {
  // As they would come in the whole cycle.
  std::ranges::stable_sort(waiting, std::greater{}, &preemptor::priority);
  auto line =
    settings.group.policy == group_policy::sessions ? cycle.line_in(settings) : front_of_line{};
  cycle.serve(std::move(waiting), settings, std::move(line));
}

absl::StatusOr<decided> decide_for_one(const decide_request& wanted, const snapshot& taken,
                                       time_point now) {
  const auto group = taken.group_of(wanted.preemptor);
  if (!group.ok())
    return group.status();
  auto waiting = taken.pending_of(wanted.preemptor);
  if (waiting.empty())
    return absl::InvalidArgumentError(fmt::format(
      "{} lacks no pods in this snapshot; take out those that are to be placed", wanted.preemptor));
  const auto workload = waiting.front().workload;
  decided made;
  snapshot_cycle cycle{taken};
  if (goes_by_lifecycle(wanted, taken, workload))
    made.lifecycle = run_lifecycle(
      taken, cycle, [&](std::string_view name) { return name == workload; }, now);
  else if (wanted.policy == "lifecycle")
    return absl::InvalidArgumentError(fmt::format(
      "{} is no workload of kind deployment, and the lifecycle policy decides for those only",
      workload));
  else
    serve_alone(cycle, std::move(waiting), settings_for(wanted, taken, *group, now));
  made.turns = cycle.turns();
  return made;
}

/// The whole cycle; of the lifecycle policy, where that was asked for, its phase alone.
decided decide_for_all(const decide_request& wanted, const snapshot& taken, time_point now) {
  // Where a server wrote down what it goes by, its whole cycle is run.
  const auto by_lifecycle = [&](std::string_view workload) {
    return goes_by_lifecycle(wanted, taken, workload)
           && (!wanted.policy.empty()
               || !taken.is_of_server(find(taken.workloads(), workload)->spec->resource_group));
  };
  decided made;
  snapshot_cycle cycle{taken};
  bool some_by_lifecycle = wanted.policy == "lifecycle";
  for (const auto& group : taken.groups()) {
    some_by_lifecycle =
      some_by_lifecycle || std::ranges::any_of(taken.pending(group), [&](const preemptor& who) {
        return by_lifecycle(who.workload);
      });
    if (wanted.policy != "lifecycle")
      cycle.run(settings_for(wanted, taken, group, now), by_lifecycle);
  }
  if (some_by_lifecycle)
    made.lifecycle = run_lifecycle(taken, cycle, by_lifecycle, now);
  made.turns = cycle.turns();
  made.queues = cycle.queues();
  for (const auto& [group, counted] : cycle.replicas())
    if (taken.is_of_server(group))
      made.replicas.emplace(group, counted);
  return made;
}

/// How the queues stand and what they give back, without anybody's turn.
by_name<queue_stage_result> queues_alone(const decide_request& wanted, const snapshot& taken,
                                         time_point now) {
  snapshot_cycle cycle{taken};
  for (const auto& group : taken.groups())
    cycle.run(settings_for(wanted, taken, group, now));
  return cycle.queues();
}

bool has_a_place_for_all(const decided& made) {
  return (!made.lifecycle || made.lifecycle->unmatched.empty())
         && std::ranges::all_of(made.replicas,
                                [](const auto& one) { return one.second.waiting.empty(); })
         && std::ranges::none_of(made.turns, [](const turn_taken& one) {
              return one.made.result == plan::outcome::infeasible;
            });
}

int decide(const decide_request& wanted, output as) {
  if (as == output::yaml)
    return refuse(absl::InvalidArgumentError(
      "-o yaml: a plan is printed as a table or as json only; say -o json"));
  const bool queues = wanted.policy == "queues";
  if (!wanted.all && !queues && wanted.preemptor.empty())
    return refuse(absl::InvalidArgumentError(
      "say for whom with --preemptor NAME, or for everything that waits with --all"));
  const auto now = time_of(wanted);
  if (!now.ok())
    return refuse(now.status());
  const auto taken = read(wanted.files);
  if (!taken.ok())
    return refuse(taken.status());

  absl::StatusOr<decided> made = decided{};
  if (!wanted.preemptor.empty())
    made = decide_for_one(wanted, *taken, *now);
  else if (wanted.all)
    made = decide_for_all(wanted, *taken, *now);
  if (!made.ok())
    return refuse(made.status());
  if (queues)
    made->queues = queues_alone(wanted, *taken, *now);
  fmt::print("{}", as == output::json ? decided_json(*made) : decided_story(*made));
  return has_a_place_for_all(*made) ? done : infeasible;
}

} // namespace

void add_decide_command(CLI::App& program, command_line& line) {
  const auto given = std::make_shared<decide_request>();
  auto& command = *program.add_subcommand(
    "decide", "tell what the engine would do on a snapshot, without any server");
  command.add_option("-f,--file", given->files, "YAML or JSON file, with pods if there are any")
    ->required();
  command.add_option("--preemptor", given->preemptor, "the workload or pod that is to be placed");
  command.add_flag("--all", given->all, "the whole cycle, for everything that waits");
  command
    .add_option("--policy", given->policy,
                "in place of the resource group's: workload-aware, sessions, lifecycle or queues")
    ->check(one_of({"workload-aware", "sessions", "lifecycle", "queues"}));
  command.add_option("--now", given->now, "the time to decide at; the clock's if not given");
  command.add_flag("--like-kubernetes", given->like_kubernetes,
                   "place plainly and score as kube-scheduler does");
  line.set_action(
    command, [given](output as) { return decide(*given, as); },
    [given] {
      if (given->all && !given->preemptor.empty())
        throw CLI::ValidationError("decide", "--all decides for everything that waits, and "
                                             "--preemptor for one alone; give one of them");
    });
}

} // namespace reprieve::cli
