#include "preemption/problem/preemptor.hpp"

#include "state/records/workload_record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace reprieve {

namespace {

/// Pods that opt out say "false" by either.
constexpr std::array<std::string_view, 2> allow_preemption_labels{
  "reprieve/allow-preemption", "yunikorn.apache.org/allow-preemption"};
constexpr std::string_view owner_annotation = "reprieve/owner";

std::string_view value_of(const string_map& pairs, std::string_view key) {
  const auto found = pairs.find(key);
  return found == pairs.end() ? std::string_view{} : std::string_view{found->second};
}

} // namespace

bool opts_out(const string_map& labels) {
  return std::ranges::any_of(allow_preemption_labels, [&](std::string_view label) {
    return value_of(labels, label) == "false";
  });
}

bool is_bound_to_a_node(const preemptor& who) {
  return who.groups.size() == 1 && who.groups.front().pods.size() == 1
         && !who.groups.front().required_node.empty();
}

std::string uid_at(const workload& w, const workload_status& status, std::size_t group,
                   std::int32_t replica, std::int32_t index, std::uint32_t incarnation) {
  return pod_uid(w.name, status.uid, {w.groups[group].name, replica, index}, incarnation);
}

pod pod_at(const workload& w, const workload_status& status, std::size_t group,
           std::int32_t replica, std::int32_t index, std::uint32_t incarnation) {
  const auto& from = w.groups[group];
  pod made;
  made.name = pod_name(w.name, {from.name, replica, index});
  made.uid = uid_at(w, status, group, replica, index, incarnation);
  made.workload = w.name;
  made.group = from.name;
  made.replica = replica;
  made.index = index;
  made.incarnation = incarnation;
  made.requests = from.pods.requests;
  made.labels = from.pods.labels;
  made.annotations = from.pods.annotations;
  made.disruption = from.disruption;
  made.own_priority = from.pods.priority;
  made.priority = status.by_group[group].preemption_priority;
  made.daemon = w.kind == workload_kind::daemon;
  made.opted_out = opts_out(from.pods.labels);
  made.protected_member =
    std::ranges::find(from.protected_members, index) != from.protected_members.end();
  made.owner = value_of(from.pods.annotations, owner_annotation);
  made.checkpointed = w.checkpoint.last;
  made.minimum_runtime = w.minimum_runtime;
  made.grace_period = w.grace_period;
  made.checkpoint_time = w.checkpoint.supported ? w.checkpoint.time_needed : duration{0};
  return made;
}

void follow(pod& p, const workload& w, const workload_status& status) {
  const auto group = group_position(w, p.group);
  if (!group)
    return;
  p.priority = status.by_group[*group].preemption_priority;
  p.checkpointed = std::max(p.checkpointed, w.checkpoint.last);
  p.minimum_runtime = w.minimum_runtime;
}

bool follows(const pod& p, const workload& w, const workload_status& status) {
  const auto group = group_position(w, p.group);
  return !group
         || (p.priority == status.by_group[*group].preemption_priority
             && p.checkpointed >= w.checkpoint.last && p.minimum_runtime == w.minimum_runtime);
}

} // namespace reprieve
