#include "apps/cli/decide.hpp"

#include "apps/cli/plan_text.hpp"
#include "preemption/engine.hpp"
#include "preemption/sessions.hpp"
#include "preemption/snapshot.hpp"
#include "protocol/manifest_reader.hpp"
#include "state/quantity.hpp"
#include "state/queue_limits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace reprieve::cli {

namespace {

int refuse(std::string_view why) {
  fmt::print(stderr, "reprieve: {}\n", why);
  return bad_input;
}

absl::StatusOr<snapshot> read(const std::vector<std::string>& files) {
  std::vector<snapshot::entry> entries;
  for (const auto& file : files) {
    auto found = read_manifest_file(file, {.snapshot = true});
    if (!found.ok())
      return found.status();
    for (auto& one : *found)
      entries.push_back({std::move(one.value), std::move(one.status)});
  }
  return snapshot::of(std::move(entries));
}

absl::StatusOr<plan_settings> settings_for(const decide_request& wanted, const snapshot& taken,
                                           const std::string& group) {
  plan_settings settings;
  settings.group = taken.settings_of(group);
  settings.group.name = group;
  settings.now = std::chrono::system_clock::now();
  if (!wanted.now.empty()) {
    const auto now = parse_time(wanted.now);
    if (!now.ok())
      return absl::InvalidArgumentError(
        fmt::format("--now: {}", std::string(now.status().message())));
    settings.now = *now;
  }
  if (wanted.policy == "workload-aware")
    settings.group.policy = group_policy::workload_aware;
  else if (wanted.policy == "sessions")
    settings.group.policy = group_policy::sessions;
  if (wanted.like_kubernetes)
    settings.placing = placing_rule::plain;
  return settings;
}

/// As the coordinator does: first what fits in free room, then the others, each on what those
/// before it leave.
absl::Status decide_in_turn(const decide_request& wanted, const snapshot& taken,
                            const std::string& group, const std::vector<preemptor>& waiting,
                            std::vector<told_plan>& told) {
  const auto settings = settings_for(wanted, taken, group);
  if (!settings.ok())
    return settings.status();
  auto view = taken.view_of(group);
  const auto keep = [&](const preemptor& who, plan made) {
    carry_out(made, fmt::format("plan-{}", told.size() + 1), taken.pods(), view);
    told.push_back({group, who, std::move(made)});
  };
  std::vector<preemptor> left;
  for (const auto& who : waiting)
    if (auto made = place(view, who, *settings); made.result == plan::outcome::placed)
      keep(who, std::move(made));
    else
      left.push_back(who);
  if (settings->group.policy == group_policy::sessions)
    keep_to_the_front(left);
  for (const auto& who : left)
    keep(who, reprieve::decide(view, who, *settings));
  return absl::OkStatus();
}

/// What pods use and ask for, queue by queue.
queue_stage_result run_queues(const snapshot& taken, const decide_request& wanted) {
  queue_stage_input in;
  in.queues = taken.known().queues;
  in.previous = taken.queues();
  by_name<std::string> queue_of;
  for (const auto& [name, record] : taken.workloads())
    queue_of[name] = record.spec.queue;
  in.now = wanted.now.empty() ? std::chrono::system_clock::now()
                              : parse_time(wanted.now).value_or(no_time);
  for (const auto& group : taken.groups()) {
    in.limits[group] = taken.settings_of(group).limits;
    add_to(in.capacity, taken.capacity_of(group));
    std::vector<pod> here;
    for (const auto& p : taken.pods())
      if (takes_room(p.phase) && taken.group_of(p.workload).value_or("") == group)
        here.push_back(p);
    add_pods(in, here, group, queue_of);
    for (const auto& who : taken.pending(group))
      for (const auto& wants : who.groups)
        for (const auto& p : wants.pods)
          if (const auto queue = queue_of.find(who.workload); queue != queue_of.end())
            add_to(in.pending[queue->second], p.requests);
  }
  return run_queue_stage(in);
}

/// The lifecycle phase for every deployment that lacks replicas (DESIGN 3.3).
lifecycle_plan run_lifecycle(const snapshot& taken, const decide_request& wanted, time_point now) {
  lifecycle_input in;
  in.now = now;
  in.placements = taken.placements();
  for (const auto& p : taken.pods())
    in.pods.push_back(lifecycle_pod_of(p));
  for (const auto& group : taken.groups()) {
    in.clusters.push_back(taken.settings_of(group));
    in.clusters.back().name = group;
  }
  for (const auto& [name, record] : taken.workloads()) {
    if (record.spec.kind != workload_kind::deployment)
      continue;
    lifecycle_deployment one;
    one.name = name;
    one.priority = record.status.resolved.priority;
    one.may_preempt = record.status.resolved.may_preempt;
    one.submitted = record.status.submitted;
    one.pods = record.spec.groups.front().pods;
    // The others lack nothing here, but the phase has to know their priorities.
    if (wanted.preemptor.empty() || name == wanted.preemptor)
      for (const auto& who : taken.pending_of(name))
        for (const auto& group : who.groups)
          one.lacking += static_cast<std::int32_t>(group.pods.size());
    for (const auto& share : taken.placements())
      if (share.deployment == name)
        one.scores[share.cluster] = share.score;
    in.deployments.push_back(std::move(one));
  }
  return preempt_by_lifecycle(taken.whole_view(), in);
}

} // namespace

int decide(const decide_request& wanted, output as) {
  const bool queues = wanted.policy == "queues";
  if (!wanted.all && !queues && wanted.preemptor.empty())
    return refuse("say for whom with --preemptor NAME, or for everything that waits with --all");
  const auto taken = read(wanted.files);
  if (!taken.ok())
    return refuse(std::string(taken.status().message()));

  if (wanted.policy == "lifecycle") {
    const auto settings = settings_for(wanted, *taken, std::string(default_group));
    if (!settings.ok())
      return refuse(std::string(settings.status().message()));
    const auto made = run_lifecycle(*taken, wanted, settings->now);
    fmt::print("{}", as == output::json ? lifecycle_json(made) : lifecycle_story(made));
    return made.unmatched.empty() ? done : infeasible;
  }

  std::vector<told_plan> told;
  if (!wanted.preemptor.empty()) {
    const auto group = taken->group_of(wanted.preemptor);
    if (!group.ok())
      return refuse(std::string(group.status().message()));
    const auto waiting = taken->pending_of(wanted.preemptor);
    if (waiting.empty())
      return refuse(fmt::format("{} lacks no pods in this snapshot; take out those that are to be "
                                "placed",
                                wanted.preemptor));
    if (const auto decided = decide_in_turn(wanted, *taken, *group, waiting, told); !decided.ok())
      return refuse(std::string(decided.message()));
  } else if (wanted.all) {
    for (const auto& group : taken->groups())
      if (const auto decided = decide_in_turn(wanted, *taken, group, taken->pending(group), told);
          !decided.ok())
        return refuse(std::string(decided.message()));
  }

  std::optional<queue_stage_result> shares;
  if (queues || wanted.all)
    shares = run_queues(*taken, wanted);
  if (as == output::json) {
    fmt::print("{}", plans_json(told, shares ? &*shares : nullptr));
  } else {
    for (const auto& one : told)
      fmt::print("{}\n", plan_story(one));
    if (shares)
      fmt::print("{}", queue_story(*shares));
  }
  const auto has_none = [](const told_plan& one) {
    return one.made.result == plan::outcome::infeasible;
  };
  return std::ranges::any_of(told, has_none) ? infeasible : done;
}

} // namespace reprieve::cli
