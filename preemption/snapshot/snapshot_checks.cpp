#include "preemption/snapshot/snapshot_checks.hpp"

#include "preemption/problem/preemptor.hpp"
#include "state/text/nearest_name.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace reprieve {

namespace {

template <class... Args>
absl::Status wrong(const pod& p, fmt::format_string<Args...> text, Args&&... args) {
  return absl::InvalidArgumentError(
    fmt::format("Pod '{}': {}", p.name, fmt::format(text, std::forward<Args>(args)...)));
}

bool on_its_way_out(const pod& p) {
  return is_leaving(p.phase) || !p.evicted_by.empty();
}

absl::Status check_node(const pod& p, const by_name<node>& nodes) {
  if (!takes_room(p.phase) || nodes.contains(p.node))
    return absl::OkStatus();
  if (p.node.empty())
    return wrong(p, "spec.nodeName is missing; a pod that is not pending has a node");
  return wrong(p, "spec.nodeName is {}, and there is no such node; add it to the snapshot", p.node);
}

absl::Status check_group(const pod& p, const workload& owner) {
  if (group_position(owner, p.group))
    return absl::OkStatus();
  std::vector<std::string_view> names;
  for (const auto& group : owner.groups)
    names.push_back(group.name);
  return wrong(p, "spec.group is {}, and workload {} has no such group; it has {}", p.group,
               owner.name, fmt::join(names, ", "));
}

absl::Status check_place(const pod& p, const workload& owner) {
  const auto& group = owner.groups[*group_position(owner, p.group)];
  if (p.replica >= group.replicas)
    return wrong(p, "spec.replica is {}; those of group {} of workload {} are 0 to {}", p.replica,
                 p.group, owner.name, group.replicas - 1);
  if (p.index >= group.count)
    return wrong(p, "spec.index is {}; those of group {} of workload {} are 0 to {}", p.index,
                 p.group, owner.name, group.count - 1);
  return absl::OkStatus();
}

/// A deployment has pods in its own group and wherever it has a placement.
bool may_run_in(std::string_view group, const workload& owner,
                std::span<const placement> placements) {
  if (group == owner.resource_group)
    return true;
  return owner.kind == workload_kind::deployment
         && std::ranges::any_of(placements, [&](const placement& one) {
              return one.deployment == owner.name && one.cluster == group;
            });
}

absl::Status check_in_workload(const pod& p, const workload_record& owner,
                               const snapshot_around_pods& around) {
  if (takes_room(p.phase))
    if (const auto& on = around.nodes.at(p.node).resource_group;
        !may_run_in(on, owner.spec, around.placements))
      return wrong(p,
                   "spec.nodeName is {}, a node of resource group {}, and workload {} is in {}; "
                   "name a node of that group",
                   p.node, on, owner.spec->name, owner.spec->resource_group);
  if (on_its_way_out(p))
    return absl::OkStatus();
  if (auto checked = check_group(p, owner.spec); !checked.ok())
    return checked;
  // A server has pods that are not wanted any more until it has told them to go.
  return p.phase == pod_phase::surplus || was_admitted(owner.status) ? absl::OkStatus()
                                                                     : check_place(p, owner.spec);
}

std::string without_digits(std::string_view name) {
  std::string rest;
  std::ranges::copy_if(name, std::back_inserter(rest), [](char c) { return c < '0' || c > '9'; });
  return rest;
}

/// Refuses what is likely a slip. Names that are short or differ in a number only are as likely
/// meant: `job-1` and `job-2`.
absl::Status check_alone(const pod& p, const by_name<workload_record>& workloads) {
  if (p.own_priority && p.priority < *p.own_priority)
    return wrong(p, "spec.preemptionPriority is {}, below spec.priority, {}; it must not be",
                 p.priority, *p.own_priority);
  constexpr std::size_t shortest = 4;
  if (p.workload == p.name || p.workload.size() < shortest)
    return absl::OkStatus();
  std::vector<std::string_view> others;
  for (const auto& [name, record] : workloads)
    if (without_digits(name) != without_digits(p.workload))
      others.emplace_back(name);
  if (const auto nearest = nearest_name(p.workload, others))
    return wrong(p,
                 "spec.workload is {}, and there is no such workload; did you mean {}? If not, "
                 "describe {} too",
                 p.workload, *nearest, p.workload);
  return absl::OkStatus();
}

} // namespace

bool was_admitted(const workload_status& status) {
  return !status.uid.empty() && status.uid != made_up_uid;
}

void facts_of_snapshot::add(const workload& admitted, const workload_status& status) {
  workloads_.insert_or_assign(admitted.name, std::pair(&admitted, &status));
  for (const auto& group : admitted.groups)
    if (!group.required_node.empty())
      required_.try_emplace(group.required_node, admitted.resource_group);
}

std::optional<std::string> facts_of_snapshot::group_of_node(std::string_view name) const {
  const auto found = required_.find(name);
  return found == required_.end() ? std::nullopt : std::optional{std::string(found->second)};
}

const workload* facts_of_snapshot::find_workload(std::string_view name) const {
  const auto found = workloads_.find(name);
  return found == workloads_.end() ? nullptr : found->second.first;
}

const workload_status* facts_of_snapshot::find_status(std::string_view name) const {
  const auto found = workloads_.find(name);
  return found == workloads_.end() ? nullptr : found->second.second;
}

absl::Status check_pod(const pod& p, const snapshot_around_pods& around) {
  if (const auto refusals = check_in_snapshot(p); !refusals.empty())
    return absl::InvalidArgumentError(to_string(refusals.front()));
  if (auto checked = check_node(p, around.nodes); !checked.ok())
    return checked;
  const auto owner = around.workloads.find(p.workload);
  return owner == around.workloads.end() ? check_alone(p, around.workloads)
                                         : check_in_workload(p, owner->second, around);
}

absl::Status check_apart(std::span<const pod> pods) {
  std::set<std::string_view> uids;
  using place =
    std::tuple<std::string_view, std::string_view, std::int32_t, std::int32_t, std::uint32_t>;
  std::map<place, const pod*> places;
  for (const auto& p : pods) {
    if (!uids.insert(p.uid).second)
      return wrong(p, "another pod has the uid {} too; give each its own", p.uid);
    if (on_its_way_out(p))
      continue;
    const auto [other, free] =
      places.try_emplace({p.workload, p.group, p.replica, p.index, p.incarnation}, &p);
    if (!free)
      return wrong(p,
                   "spec.index is {} in replica {} of group {} of workload {}, where pod '{}' is "
                   "already; give each its own spec.index",
                   p.index, p.replica, p.group, p.workload, other->second->name);
  }
  return absl::OkStatus();
}

absl::Status check_apart(std::span<const placement> placements) {
  std::map<std::pair<std::string_view, std::string_view>, std::string_view> seen;
  for (const auto& one : placements)
    if (const auto [other, first] = seen.try_emplace({one.deployment, one.cluster}, one.name);
        !first)
      return absl::InvalidArgumentError(
        fmt::format("Placement '{}': deployment {} has placement '{}' in cluster {} already; it "
                    "may have one in each",
                    one.name, one.deployment, other->second, one.cluster));
  return absl::OkStatus();
}

pod completed(const pod& p, const pod_manifest_fields& given, const workload_record& owner) {
  const auto position = group_position(owner.spec, p.group);
  if (!position)
    return p;
  auto whole = pod_at(owner.spec, owner.status, *position, p.replica, p.index, p.incarnation);
  whole.uid = p.uid;
  whole.name = p.name;
  whole.node = p.node;
  whole.phase = p.phase;
  whole.created = p.created;
  whole.started = p.started;
  whole.checkpointed = std::max(whole.checkpointed, p.checkpointed);
  whole.stop_told = p.stop_told;
  whole.evicted_by = p.evicted_by;
  whole.placed_by = p.placed_by;
  whole.own_priority = p.own_priority ? p.own_priority : whole.own_priority;
  whole.opted_out = whole.opted_out || p.opted_out || opts_out(p.labels);
  whole.protected_member = whole.protected_member || p.protected_member;
  if (!p.requests.empty())
    whole.requests = p.requests;
  if (!p.labels.empty())
    whole.labels = p.labels;
  if (!p.annotations.empty())
    whole.annotations = p.annotations;
  if (!p.owner.empty())
    whole.owner = p.owner;
  const auto take = [&](bool was_given, auto pod::*field) {
    if (was_given)
      whole.*field = p.*field;
  };
  take(given.disruption, &pod::disruption);
  take(given.daemon, &pod::daemon);
  take(given.minimum_runtime, &pod::minimum_runtime);
  take(given.grace_period, &pod::grace_period);
  take(given.checkpoint_time, &pod::checkpoint_time);
  return whole;
}

} // namespace reprieve
