#include "state/admission/admission_rules.hpp"
#include "state/quantities/quantity.hpp"
#include "state/quantities/resource_sums.hpp"

namespace reprieve::rules {

namespace {

bool is_built_in(const priority_class& c) {
  return c == system_node_critical() || c == system_cluster_critical();
}

std::string_view to_string(preemption_policy policy) {
  return policy == preemption_policy::never ? "Never" : "PreemptLowerPriority";
}

template <class T>
bool are_distinct(std::vector<T> values) {
  std::sort(values.begin(), values.end());
  return std::adjacent_find(values.begin(), values.end()) == values.end();
}

template <class T>
void check_at_least(findings& out, std::string_view field, const std::optional<T>& value, T least) {
  if (value)
    check_at_least(out, field, *value, least);
}

void check_required_node_settings(findings& out, const required_node_settings& s) {
  check_wait(out, "spec.requiredNode.preemptionStartDelay", s.preemption_start_delay);
  if (s.strategies.empty())
    out.refuse("spec.requiredNode.preemptionVictimPodsSelectionStrategy",
               "is empty; it must name 'single', 'multiple' or both");
  else if (!are_distinct(s.strategies))
    out.refuse("spec.requiredNode.preemptionVictimPodsSelectionStrategy",
               "names a strategy twice; each may stand there once");
  check_at_least(out, "spec.requiredNode.deviationPercent", s.deviation_percent, 0);
  check_at_least(out, "spec.requiredNode.maxVictims", s.max_victims, 1);
}

void check_guards(findings& out, const guards& g) {
  check_wait(out, "spec.guards.minimumRuntime", g.minimum_runtime);
  check_at_least(out, "spec.guards.victimsPerDecision", g.victims_per_decision, 0);
  check_at_least(out, "spec.guards.preemptionsPerWorkloadPerHour",
                 g.preemptions_per_workload_per_hour, 0);
  if (g.preemptions_per_workload_per_hour.value_or(0) > record_limits::preemptions_per_hour)
    out.refuse("spec.guards.preemptionsPerWorkloadPerHour",
               "is {}; it must be at most {}, as no more are remembered",
               *g.preemptions_per_workload_per_hour, record_limits::preemptions_per_hour);
  check_at_least(out, "spec.guards.searchBudget", g.search_budget, std::int64_t{1});
}

/// A sum in words that may leave 64 bits.
std::string in_all(wide_int total, std::string_view resource) {
  constexpr auto end = std::numeric_limits<std::int64_t>::max();
  return total <= end ? format_quantity(static_cast<std::int64_t>(total), resource)
                      : fmt::format("more than {}", format_quantity(end, resource));
}

/// Nodes may not have more together than adds up; one that has no more than before is not to blame.
void check_total(findings& out, const prospect& cluster, const node& n) {
  if (cluster.too_much.empty())
    return;
  const auto* before = cluster.facts.capacity_of_node(n.name);
  for (const auto& [name, total] : cluster.too_much)
    if (const auto amount = amount_of(n.capacity, name);
        amount <= largest_amount && amount > (before == nullptr ? 0 : amount_of(*before, name)))
      out.refuse(fmt::format("spec.capacity.{}", name),
                 "is {}, and with it the nodes of the cluster have {} in all; together they may "
                 "have at most {}",
                 format_quantity(amount, name), in_all(total, name),
                 format_quantity(most_in_all, name));
}

} // namespace

by_name<wide_int> too_much_in_all(const prospect& cluster) {
  auto totals = cluster.facts.capacity_in_all();
  const auto add = [&](const resources& amounts, int sign) {
    for (const auto& [name, amount] : amounts)
      totals[name] += static_cast<wide_int>(amount) * sign;
  };
  for (const auto& [name, n] : cluster.nodes) {
    add(n->capacity, 1);
    if (const auto* before = cluster.facts.capacity_of_node(name))
      add(*before, -1);
  }
  std::erase_if(totals, [](const auto& one) {
    return one.second <= most_in_all || !is_qualified_name(one.first); // which is refused as such
  });
  return totals;
}

std::optional<std::string> prospect::group_of_node(std::string_view name) const {
  const auto found = nodes.find(name);
  return found == nodes.end() ? facts.group_of_node(name) : found->second->resource_group;
}

const workload* prospect::find_workload(std::string_view name) const {
  const auto found = workloads.find(name);
  return found == workloads.end() ? facts.find_workload(name) : found->second;
}

/// Machines go by their host names, so a node may have dots in its name.
void check(findings& out, const prospect& cluster, const node& n) {
  if (!is_dns_subdomain(n.name))
    out.refuse(
      "metadata.name",
      "is {}; it must be a DNS name of at most {} characters: parts of 1 to {} of a-z, 0-9 "
      "and '-', with no '-' at either end, joined by '.'",
      in_quotes(n.name), longest_subdomain, longest_label);
  check_labels(out, "metadata.labels", n.labels);
  check_known(out, "spec.resourceGroup", "resource group", cluster.after.groups, n.resource_group);
  if (const auto group = cluster.facts.group_of_node(n.name); group && *group != n.resource_group)
    out.refuse("spec.resourceGroup",
               "is {}, but the node is in {} and can't move; remove the node and add it again",
               in_quotes(n.resource_group), in_quotes(*group));
  const bool few_taints =
    check_number(out, "spec.taints", "taints", n.taints.size(), record_limits::tolerations);
  for (std::size_t i = 0; few_taints && i < n.taints.size(); ++i) {
    check_qualified_name(out, fmt::format("spec.taints[{}].key", i), n.taints[i].key);
    if (!is_label_value(n.taints[i].value))
      out.refuse(fmt::format("spec.taints[{}].value", i),
                 "is {}; it must be as the value of a label", in_quotes(n.taints[i].value));
  }
  check_amounts(out, "spec.capacity", n.capacity);
  check_total(out, cluster, n);
}

/// As in Kubernetes, value and policy are fixed: workloads were admitted by them.
void check(findings& out, const prospect& cluster, const priority_class& c) {
  if (is_built_in(c))
    return;
  check_dns_label(out, "metadata.name", c.name);
  if (c.name.starts_with("system-")) {
    out.refuse("metadata.name",
               "is {}; the classes that begin with 'system-' are built in and can't be changed or "
               "added to",
               in_quotes(c.name));
    return;
  }
  if (c.value > highest_user_priority)
    out.refuse("value", "is {}; it must be at most {}, above which are the built-in classes",
               c.value, highest_user_priority);
  check_object_count(out, cluster.before.classes, cluster.after.classes, c.name, "priority classes",
                     record_limits::priority_classes);
  if (const auto* before = find(cluster.before.classes, c.name)) {
    if (before->value != c.value)
      out.refuse("value", "is {}, and was {}; it can't be changed, make a class of another name",
                 c.value, before->value);
    if (before->policy != c.policy)
      out.refuse("preemptionPolicy",
                 "is {}, and was {}; it can't be changed, make a class of another name",
                 to_string(c.policy), to_string(before->policy));
  }
  if (!c.global_default)
    return;
  for (const auto& [name, other] : cluster.after.classes)
    if (other.global_default && name != c.name)
      out.refuse("globalDefault", "is true, but {} is the global default; only one class may be",
                 in_quotes(name));
}

void check(findings& out, const prospect& cluster, const resource_group& g) {
  check_dns_label(out, "metadata.name", g.name);
  if (g.policy == group_policy::sessions && !is_session_priority(g.preemptible_priority))
    out.refuse("spec.preemptiblePriority", "is {}; with the sessions policy it must be {} to {}",
               g.preemptible_priority, lowest_session_priority, highest_session_priority);
  check_required_node_settings(out, g.required_node);
  check_wait(out, "spec.forceDeleteAfter", g.force_delete_after);
  check_wait(out, "spec.heartbeatTimeout", g.heartbeat_timeout);
  check_wait(out, "spec.lostNodeTimeout", g.lost_node_timeout);
  check_at_least(out, "spec.preemptionPriorityGap", g.preemption_priority_gap, 0);
  check_guards(out, g.limits);
  if (check_number(out, "spec.divisible", "resources", g.divisible.size(),
                   record_limits::resources))
    for (std::size_t i = 0; i < g.divisible.size(); ++i)
      check_qualified_name(out, fmt::format("spec.divisible[{}]", i), g.divisible[i]);
  check_object_count(out, cluster.before.groups, cluster.after.groups, g.name, "resource groups",
                     cluster.facts.most_resource_groups());
  // Where the batch has queues, they are looked at themselves.
  if (!cluster.before.groups.contains(g.name) && cluster.queues.empty())
    for (const auto& [name, q] : cluster.after.queues)
      check_grants(out, "metadata.name", q, cluster.after.groups.size());
  check_what_it_holds(out, cluster, g);
}

void check(findings& out, const prospect& cluster, const placement& p) {
  const auto* deployment = cluster.find_workload(p.deployment);
  if (deployment == nullptr || deployment->resource_group != p.cluster
      || p.name != own_placement_name(p.deployment, p.cluster))
    check_dns_label(out, "metadata.name", p.name);
  if (deployment == nullptr)
    out.refuse("spec.deployment", "is {}, and there is no workload of that name; create it first",
               in_quotes(p.deployment));
  else if (deployment->kind != workload_kind::deployment)
    out.refuse("spec.deployment", "is {}, a workload of another kind; it must be a deployment",
               in_quotes(p.deployment));
  check_known(out, "spec.cluster", "resource group", cluster.after.groups, p.cluster);
  check_at_least(out, "spec.committed", p.committed, 0);
  check_at_least(out, "spec.assigned", p.assigned, 0);
  std::size_t bytes = 0;
  for (const auto& one : p.nominations)
    bytes += bytes_of(one);
  if (bytes > record_limits::nominations_bytes)
    out.refuse("spec.nominations", "take {} bytes; they may take at most {}", bytes,
               record_limits::nominations_bytes);
}

void check(findings& out, const prospect& cluster, const disruption_budget& b) {
  check_dns_label(out, "metadata.name", b.name);
  check_known(out, "spec.resourceGroup", "resource group", cluster.after.groups, b.resource_group);
  if (b.match_labels.empty())
    out.refuse("spec.selector.matchLabels",
               "is empty; it must name at least one label of the pods it is for");
  check_labels(out, "spec.selector.matchLabels", b.match_labels);
  if (b.min_available.has_value() == b.max_unavailable.has_value())
    out.refuse("spec.minAvailable", "and spec.maxUnavailable are {}; exactly one must be given",
               b.min_available ? "both given" : "both missing");
  check_at_least(out, "spec.minAvailable", b.min_available, 0);
  check_at_least(out, "spec.maxUnavailable", b.max_unavailable, 0);
}

void check(findings& out, const prospect&, const pod&) {
  out.refuse("kind",
             "is Pod; pods are made from workloads and stand in snapshots only, so submit a "
             "Workload instead");
}

} // namespace reprieve::rules
