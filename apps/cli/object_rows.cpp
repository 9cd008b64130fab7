#include "apps/cli/object_rows.hpp"

#include "apps/cli/text_table.hpp"
#include "state/quantities/quantity.hpp"

#include <fmt/format.h>

#include <array>
#include <map>

namespace reprieve {

namespace {

std::string or_dash(std::string_view text) {
  return std::string(text.empty() ? "-" : text);
}

std::string_view to_string(workload_kind kind) {
  constexpr std::array<std::string_view, 5> names{"batch", "inference", "interactive", "daemon",
                                                  "deployment"};
  return names[static_cast<std::size_t>(kind)];
}

std::string_view to_string(group_policy policy) {
  constexpr std::array<std::string_view, 3> names{"WorkloadAware", "Lifecycle", "Sessions"};
  return names[static_cast<std::size_t>(policy)];
}

std::string label(const node& n, std::string_view key) {
  const auto found = n.labels.find(key);
  return found == n.labels.end() ? "-" : found->second;
}

std::string_view state_of(const node& n, const node_status& status) {
  if (!n.ready)
    return "NotReady";
  if (status.lost)
    return status.pods_lost ? "PodsLost" : "Lost";
  if (is_away(status))
    return "Stopping"; // what was left on it
  if (!n.schedulable)
    return "Unschedulable";
  return status.most_pods ? "Full" : "Ready";
}

std::string table_of_nodes(const std::vector<shown_object>& objects,
                           const std::vector<shown_object>& pods) {
  std::map<std::string, std::pair<int, std::int64_t>> taken; // pods and gpu, by node
  for (const auto& one : pods) {
    const auto& p = std::get<pod>(one.what);
    auto& on = taken[p.node];
    ++on.first;
    if (takes_room(p.phase) && p.phase != pod_phase::nominated)
      on.second += amount_of(p.requests, resource::gpu);
  }
  text_table table({"NAME", "GROUP", "ZONE", "RACK", "STATE", "PODS", "GPU", "CAPACITY"});
  for (const auto& one : objects) {
    const auto& n = std::get<node>(one.what);
    const auto& [count, gpu] = taken[n.name];
    table.add({n.name, n.resource_group, label(n, "zone"), label(n, "rack"),
               std::string(state_of(n, one.node.value_or(node_status{}))), std::to_string(count),
               fmt::format("{}/{}", format_quantity(gpu, resource::gpu),
                           format_quantity(amount_of(n.capacity, resource::gpu), resource::gpu)),
               amounts_text(n.capacity)});
  }
  return table.text();
}

std::string table_of_workloads(const std::vector<shown_object>& objects,
                               const std::vector<shown_object>& pods) {
  std::map<std::string, std::map<pod_phase, int>> phases;
  for (const auto& one : pods) {
    const auto& p = std::get<pod>(one.what);
    ++phases[p.workload][p.phase];
  }
  text_table table({"NAME", "GROUP", "QUEUE", "KIND", "PRIORITY", "PODS", "RUNNING", "NOMINATED",
                    "LEAVING", "PREEMPTED"});
  for (const auto& one : objects) {
    const auto& w = std::get<workload>(one.what);
    const auto status = one.workload.value_or(workload_status{});
    auto& count = phases[w.name];
    table.add({w.name, w.resource_group, w.queue, std::string(to_string(w.kind)),
               std::to_string(status.resolved.priority), std::to_string(pod_count(w)),
               std::to_string(count[pod_phase::running]),
               std::to_string(count[pod_phase::nominated]),
               std::to_string(count[pod_phase::terminating] + count[pod_phase::force_deleting]),
               std::to_string(status.attempts)});
  }
  return table.text();
}

std::string table_of_queues(const std::vector<shown_object>& objects) {
  text_table table(
    {"NAME", "PARENT", "WEIGHT", "DESERVED", "ALLOCATED", "USED", "COMING", "GUARANTEED", "LIMIT"});
  for (const auto& one : objects) {
    const auto& q = std::get<queue>(one.what);
    const auto stands = one.queue.value_or(queue_status{});
    table.add({q.name, or_dash(q.parent), std::to_string(q.weight), amounts_text(stands.deserved),
               amounts_text(stands.allocated), amounts_text(stands.used),
               amounts_text(stands.preempting), amounts_text(q.guaranteed), amounts_text(q.limit)});
  }
  return table.text();
}

std::string table_of_pods(const std::vector<shown_object>& objects) {
  text_table table({"NAME", "NODE", "PHASE", "PRIORITY", "REQUESTS", "PLACED BY", "EVICTED BY"});
  for (const auto& one : objects) {
    const auto& p = std::get<pod>(one.what);
    table.add({p.name, p.node, std::string(to_string(p.phase)), std::to_string(p.priority),
               amounts_text(p.requests), or_dash(p.placed_by), or_dash(p.evicted_by)});
  }
  return table.text();
}

std::string table_of_classes(const std::vector<shown_object>& objects) {
  text_table table({"NAME", "VALUE", "GLOBAL DEFAULT", "PREEMPTION"});
  for (const auto& one : objects) {
    const auto& tier = std::get<priority_class>(one.what);
    table.add({tier.name, std::to_string(tier.value), tier.global_default ? "true" : "false",
               tier.policy == preemption_policy::never ? "Never" : "PreemptLowerPriority"});
  }
  return table.text();
}

std::string table_of_groups(const std::vector<shown_object>& objects) {
  text_table table({"NAME", "POLICY"});
  for (const auto& one : objects) {
    const auto& group = std::get<resource_group>(one.what);
    table.add({group.name, std::string(to_string(group.policy))});
  }
  return table.text();
}

std::string table_of_placements(const std::vector<shown_object>& objects) {
  text_table table({"NAME", "DEPLOYMENT", "CLUSTER", "COMMITTED", "ASSIGNED", "SCORE"});
  for (const auto& one : objects) {
    const auto& share = std::get<placement>(one.what);
    table.add({share.name, share.deployment, share.cluster, std::to_string(share.committed),
               std::to_string(share.assigned), std::to_string(share.score)});
  }
  return table.text();
}

std::string table_of_budgets(const std::vector<shown_object>& objects) {
  const auto bound = [](const std::optional<std::int32_t>& number) {
    return number ? std::to_string(*number) : std::string("-");
  };
  text_table table({"NAME", "GROUP", "MIN AVAILABLE", "MAX UNAVAILABLE"});
  for (const auto& one : objects) {
    const auto& budget = std::get<disruption_budget>(one.what);
    table.add({budget.name, budget.resource_group, bound(budget.min_available),
               bound(budget.max_unavailable)});
  }
  return table.text();
}

} // namespace

std::string_view to_string(pod_phase phase) {
  constexpr std::array<std::string_view, 8> names{
    "Pending", "Nominated", "Bound", "Running", "Surplus", "Terminating", "ForceDeleting", "Gone"};
  return names[static_cast<std::size_t>(phase)];
}

std::string_view to_string(decision_phase phase) {
  constexpr std::array<std::string_view, 5> names{"preparing", "committed", "starting", "done",
                                                  "aborted"};
  return names[static_cast<std::size_t>(phase)];
}

std::string amounts_text(const resources& amounts) {
  std::string text;
  for (const auto& [name, amount] : amounts)
    if (amount != 0)
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, format_quantity(amount, name));
  return or_dash(text);
}

std::string object_table(object_kind kind, const std::vector<shown_object>& objects,
                         const std::vector<shown_object>& pods) {
  switch (kind) {
  case object_kind::node:
    return table_of_nodes(objects, pods);
  case object_kind::queue:
    return table_of_queues(objects);
  case object_kind::priority_class:
    return table_of_classes(objects);
  case object_kind::resource_group:
    return table_of_groups(objects);
  case object_kind::workload:
    return table_of_workloads(objects, pods);
  case object_kind::placement:
    return table_of_placements(objects);
  case object_kind::disruption_budget:
    return table_of_budgets(objects);
  case object_kind::pod:
    return table_of_pods(objects);
  }
  return {};
}

} // namespace reprieve
