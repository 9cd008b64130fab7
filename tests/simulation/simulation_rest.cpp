#include "preemption/policies/queues/queue_explain.hpp"
#include "preemption/problem/preemptor.hpp"
#include "preemption/snapshot/lifecycle_snapshot.hpp"
#include "preemption/snapshot/snapshot_cycle.hpp"
#include "tests/simulation/simulation.hpp"
#include "tests/support/archive_check.hpp"

#include <caf/scheduled_actor.hpp>
#include <fmt/format.h>

#include <algorithm>

// What holds when everything has come to rest.

namespace reprieve::simulation {

/// Every replica that should run does, and knows who serves what.
void simulation::check_serving() {
  for (auto& one : members_) {
    if (!one->is_live())
      continue;
    const auto* known = one->serving();
    for (const auto& name : facts_.resource_groups()) {
      const auto group =
        known == nullptr ? decltype(known->groups.end()){} : known->groups.find(name);
      if (known == nullptr || group == known->groups.end() || !group->second.coordinator)
        facts_.complain(
          fmt::format("process {} does not know who serves group {}", one->generation(), name));
    }
  }
}

/// The records have the version that all who are there know.
void simulation::check_schema() {
  auto least = schema_version;
  for (const auto& one : members_)
    if (one->is_live())
      least = std::min(least, one->schema());
  if (facts_.schema() != least)
    facts_.complain(fmt::format("the records have version {}, and all who are there know {}",
                                facts_.schema(), least));
}

/// No decision is open, so nobody holds a vote.
void simulation::check_holds() {
  const auto held = newest_live()->count_holds();
  come_to_rest();
  if (*held > 0 && facts_.open_decisions() == 0)
    facts_.complain(fmt::format("{} votes are held, and no decision is open", *held));
}

/// Finished decisions are found by whom they concern, whoever died while they ended.
void simulation::check_archive() {
  store_->read({with_prefix("d/"), 0, 0, false}, [&](const auto& found) {
    for (const auto& fault : faults_of_archive(found->values))
      facts_.complain("of finished decisions: " + fault);
  });
}

/// What the scheduler says of why a workload waits.
std::string simulation::reason_given(const std::string& workload) {
  auto told = std::make_shared<std::string>("nothing");
  auto& asked = *newest_live();
  asked.world().system().spawn(
    [to = asked.gateway(), told, workload](caf::event_based_actor* self) {
      self->request(to, caf::infinite, explain_request{{}, workload, {}})
        .then([told](explain_result& answer) {
          *told = answer.ok() ? answer->pending_reason : std::string(answer.status().message());
        });
    });
  come_to_rest();
  return *told;
}

/// The records as a snapshot; nothing while somebody in the group is told to go: who waits may wait
/// for this one, or not count on it any more.
std::optional<snapshot> simulation::look_at(const std::string& group) {
  std::vector<snapshot::entry> entries;
  for (const auto& [name, one] : facts_.queues())
    entries.push_back({one, {}, {}});
  for (const auto& name : facts_.resource_groups()) {
    resource_group made;
    made.name = name;
    if (name == counted_group)
      made.policy = group_policy::lifecycle;
    group_status status;
    status.grants.emplace();
    for (const auto& [queue, record] : facts_.quota())
      if (const auto* granted = find(record.grants, name))
        (*status.grants)[queue] = *granted;
    entries.push_back({std::move(made), std::move(status), {}});
  }
  for (const auto& [name, record] : facts_.nodes()) {
    entries.push_back({*record.spec, {}, {}});
    for (const auto& p : record.pods) {
      if (p.stop_told != no_time && record.spec->resource_group == group)
        return std::nullopt;
      const pod_manifest_fields all{true, true, true, true, true, true};
      auto now = p;
      if (const auto owner = facts_.workloads().find(p.workload); owner != facts_.workloads().end())
        follow(now, owner->second.spec, owner->second.status);
      entries.push_back({std::move(now), {}, all});
    }
  }
  for (const auto& [name, record] : facts_.workloads())
    entries.push_back({*record.spec, course_of(record), {}});
  for (const auto& [name, share] : facts_.placements()) {
    const auto deployment = facts_.workloads().find(share.deployment);
    const bool is_there = deployment != facts_.workloads().end()
                          && deployment->second.spec->resource_group == share.cluster;
    if (is_there || name != own_placement_name(share.deployment, share.cluster))
      entries.push_back({share, {}, {}});
  }
  for (const auto& [name, budget] : facts_.budgets())
    entries.push_back({budget, {}, {}});
  auto taken = snapshot::of(std::move(entries));
  if (!taken.ok())
    facts_.complain(
      fmt::format("the records are no snapshot: {}", std::string(taken.status().message())));
  return taken.ok() ? std::optional{*std::move(taken)} : std::nullopt;
}

/// A cycle over the records has nothing to do: whoever waits can't be placed, and no queue has to
/// give anything back.
void simulation::check_progress(const std::string& group) {
  for (const auto& [name, record] : facts_.workloads())
    if (record.deleting && record.spec->resource_group == group)
      facts_.complain(fmt::format("workload {} was deleted and is still there", name));
  const auto taken = look_at(group);
  if (!taken)
    return;
  plan_settings settings;
  settings.group.name = group;
  settings.now = outside_.clock().now(caf::actor_cast<caf::scheduled_actor*>(machines_));
  snapshot_cycle cycle{*taken};
  cycle.run(settings);
  for (const auto& turn : cycle.turns())
    if (!turn.made.assignments.empty()) {
      facts_.complain(fmt::format("{} waits, although {}; the scheduler says '{}'{}",
                                  turn.who.workload, turn.made.why.summary,
                                  reason_given(turn.who.workload), facts_.text_of_nodes()));
      return;
    }
  for (const auto& turn : cycle.turns())
    if (facts_.broken().empty())
      check_order(group, turn.who);
  for (const auto& one : cycle.taken_back()) {
    std::string why;
    for (const auto& line : one.from.lines)
      why += fmt::format("; {}: {}", line.resource, why_moved(line));
    facts_.complain(fmt::format("queue {} uses more than it may keep{}{}", one.from.queue, why,
                                facts_.text_of_nodes()));
  }
}

/// No portion of the same queue that is less important runs in room that would do for it.
void simulation::check_order(const std::string& group, const preemptor& who) {
  const auto& records = facts_.workloads();
  const auto& record = records.find(who.workload)->second;
  const auto& own = *record.spec;
  // Who was preempted often pauses, and others have the room meanwhile.
  const auto now = outside_.clock().now(caf::actor_cast<caf::scheduled_actor*>(machines_));
  if (record.status.resume_after > now)
    return;
  const bool plain = std::ranges::all_of(who.groups, [](const wanted_group& one) {
    return one.topology_keys.empty() && one.node_selector.empty() && one.required_node.empty();
  });
  if (who.groups.size() != 1 || !plain || !who.may_preempt)
    return;
  const auto each = amount_of(who.groups.front().pods.front().requests, resource::gpu);
  const auto needed = who.groups.front().needed;
  std::map<std::string, std::int64_t> free; // by node that takes pods
  struct runs {
    std::int32_t priority = 0;
    std::int64_t takes = 0;
    std::map<std::string, std::int64_t> on;
  };
  std::map<portion_id, runs> portions; // of the same queue
  for (const auto& [name, there] : facts_.nodes()) {
    if (there.spec->resource_group != group || !takes_pods(there))
      continue;
    auto& left = free[name];
    left = amount_of(there.spec->capacity, resource::gpu);
    for (const auto& p : there.pods) {
      if (!takes_room(p.phase))
        continue;
      const auto takes = amount_of(p.requests, resource::gpu);
      left -= takes;
      const auto owner = records.find(p.workload);
      if (owner == records.end() || owner->second.spec->queue != own.queue
          || p.workload == who.workload)
        continue;
      auto& portion = portions[portion_of(p)];
      portion.priority = std::max(portion.priority, p.priority);
      portion.takes += takes;
      portion.on[name] += takes;
    }
  }
  for (const auto& [id, one] : portions) {
    if (one.priority >= who.priority || one.takes < each * needed)
      continue;
    std::int64_t fit = 0;
    for (const auto& [node, left] : free) {
      const auto at = one.on.find(node);
      fit += std::max<std::int64_t>(left + (at == one.on.end() ? 0 : at->second), 0) / each;
    }
    if (fit >= needed)
      facts_.complain(fmt::format("{} of queue {} (priority {}) waits for {} times {} gpu, while "
                                  "{} (priority {}) runs in {}; "
                                  "the scheduler says '{}'{}",
                                  who.workload, own.queue, who.priority, needed, each,
                                  to_string(id), one.priority, one.takes,
                                  reason_given(who.workload), facts_.text_of_nodes()));
  }
}

/// Where the cluster counts replicas, there are as many as are committed, and a cycle over the
/// records has nothing to do.
void simulation::check_replicas() {
  if (!facts_.resource_groups().contains(counted_group))
    return;
  const auto now = look_at(counted_group);
  if (!now)
    return;
  for (const auto& [name, record] : facts_.workloads()) {
    if (record.spec->resource_group != counted_group)
      continue;
    if (record.deleting) {
      facts_.complain(fmt::format("deployment {} was deleted and is still there", name));
      continue;
    }
    const auto share = std::ranges::find_if(
      facts_.placements(), [&](const auto& one) { return one.second.deployment == name; });
    std::int32_t pods = 0;
    for (const auto& [node, on] : facts_.nodes())
      for (const auto& p : on.pods)
        pods += p.workload == name;
    if (share == facts_.placements().end()) {
      facts_.complain(fmt::format("deployment {} has no placement", name));
      continue;
    }
    const auto committed = share->second.committed;
    if (committed > replicas_wanted(record.spec) || pods != committed)
      facts_.complain(
        fmt::format("deployment {} asks for {} replicas, has {} committed and {} pods{}", name,
                    replicas_wanted(record.spec), committed, pods, facts_.text_of_nodes()));
    if (share->second.assigned != pods)
      facts_.complain(fmt::format("placement {} says {} replicas are assigned, and {} are",
                                  share->first, share->second.assigned, pods));
  }
  auto in = lifecycle_cycle_of(
    *now, counted_group, outside_.clock().now(caf::actor_cast<caf::scheduled_actor*>(machines_)));
  const auto left = run_lifecycle_cycle(now->view_of(counted_group), in);
  for (const auto& step : left.steps)
    facts_.complain(fmt::format("nothing was done although {}; the scheduler says '{}'{}",
                                step.why.summary, reason_given(step.deployments.front()),
                                facts_.text_of_nodes()));
}

void simulation::check_rest() {
  // A pod may have ended just now, for whose room somebody waits.
  constexpr int most_looks = 10;
  for (int i = 0; i < most_looks && facts_.broken().empty(); ++i) {
    const auto before = facts_.moves();
    settle(std::chrono::seconds{1});
    if (facts_.moves() == before)
      break;
  }
  const auto check = [&](const auto& what) {
    if (facts_.broken().empty())
      what();
  };
  check([&] { facts_.check_rest(); });
  // Those that ask take time, in which pods end.
  for (const auto& group : facts_.resource_groups())
    if (group != counted_group)
      check([&] { check_progress(group); });
  check([&] { check_replicas(); });
  check([&] { check_serving(); });
  check([&] { check_schema(); });
  check([&] { check_holds(); });
  check([&] { check_archive(); });
}

} // namespace reprieve::simulation
