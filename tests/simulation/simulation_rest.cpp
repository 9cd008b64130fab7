#include "preemption/engine.hpp"
#include "preemption/pending.hpp"
#include "preemption/quota.hpp"
#include "tests/simulation/simulation.hpp"

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

/// Whether the queue may use what the plan asks for, once its victims have gone.
bool simulation::is_granted(const workload& who, const plan& made) const {
  const auto& queue = who.queue;
  resources more;
  for (const auto& one : made.assignments)
    add_taken(more, one.placed);
  auto used = facts_.used_in(queue, who.resource_group);
  for (const auto& one : made.victims) {
    const auto owner = facts_.workloads().find(one.portion.workload);
    if (owner == facts_.workloads().end() || owner->second.spec->queue != queue)
      continue;
    for (const auto& [uid, node] : one.pods) {
      for (const auto& [resource, amount] : find_pod(facts_.nodes().at(node), uid)->requests)
        used[resource] -= amount;
      --used[std::string(resource::pods)];
    }
  }
  const auto record = facts_.quota().find(queue);
  const auto* granted =
    record == facts_.quota().end() ? nullptr : find(record->second.grants, who.resource_group);
  return granted != nullptr && beyond_grant(queue, *granted, used, more).empty();
}

/// What the group has, with the nodes of its pods; nothing while one of them is told to go: who
/// waits may wait for this one, or not count on it any more.
std::optional<simulation::group_at_rest> simulation::look_at(const std::string& group) const {
  group_at_rest found;
  for (const auto& [name, record] : facts_.nodes()) {
    if (record.spec->resource_group != group)
      continue;
    found.view.put_node(record.spec);
    for (const auto& p : record.pods) {
      if (p.stop_told != no_time)
        return std::nullopt;
      found.standing.emplace(p.uid, &*record.spec);
      if (!takes_room(p.phase))
        continue;
      auto now = p;
      if (const auto owner = facts_.workloads().find(p.workload); owner != facts_.workloads().end())
        follow(now, owner->second.spec, owner->second.status);
      found.view.put_pod(now);
    }
  }
  for (const auto& [name, budget] : facts_.budgets())
    if (budget.resource_group == group)
      found.view.put_budget(budget);
  found.view.settle();
  return found;
}

/// Whoever still waits could not have been placed.
void simulation::check_progress(const std::string& group) {
  const auto now = look_at(group);
  if (!now)
    return;
  plan_settings settings;
  settings.now = outside_.clock().now(caf::actor_cast<caf::scheduled_actor*>(machines_));
  for (const auto& [name, record] : facts_.workloads()) {
    if (record.spec->resource_group != group)
      continue;
    if (record.deleting) {
      facts_.complain(fmt::format("workload {} was deleted and is still there", name));
      continue;
    }
    if (record.status.resume_after > settings.now)
      continue;
    for (const auto& who : lacking_units(
           record, [&](const pod& p) { return now->standing.contains(p.uid); },
           [&](const pod& p) { return now->standing.at(p.uid); }))
      if (const auto made = decide(now->view, who, settings);
          made.result != plan::outcome::infeasible && is_granted(record.spec, made))
        facts_.complain(fmt::format("{} waits, although {}; the scheduler says '{}'{}", name,
                                    made.why.summary, reason_given(name), facts_.text_of_nodes()));
  }
}

void simulation::check_rest() {
  const auto check = [&](const auto& what) {
    if (facts_.broken().empty())
      what();
  };
  check([&] { facts_.check_rest(); });
  check([&] { check_serving(); });
  check([&] { check_schema(); });
  check([&] { check_holds(); });
  for (const auto& group : facts_.resource_groups())
    check([&] { check_progress(group); });
}

} // namespace reprieve::simulation
