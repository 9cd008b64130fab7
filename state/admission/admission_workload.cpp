#include "state/admission/admission_rules.hpp"
#include "state/model/object_size.hpp"
#include "state/quantities/quantity.hpp"
#include "state/quantities/resource_sums.hpp"

namespace reprieve::rules {

namespace {

bool is_too_large(const pod_group& group) {
  return bytes_of(group.pods) > record_limits::template_bytes;
}

void check_template(findings& out, std::string_view where, const pod_template& t) {
  check_amounts(out, fmt::format("{}.template.spec.requests", where), t.requests);
  check_labels(out, fmt::format("{}.template.metadata.labels", where), t.labels);
  check_labels(out, fmt::format("{}.template.spec.nodeSelector", where), t.node_selector);
  const auto annotations = fmt::format("{}.template.metadata.annotations", where);
  if (check_number(out, annotations, "annotations", t.annotations.size(),
                   record_limits::annotations))
    for (const auto& [key, value] : t.annotations)
      check_qualified_name(out, annotations, key);
  if (const auto bytes = bytes_of(t); bytes > record_limits::template_bytes)
    out.refuse(fmt::format("{}.template", where),
               "takes {} bytes in the record of a node, for each pod there; it may take at most "
               "{}, so keep long texts elsewhere",
               bytes, record_limits::template_bytes);
  if (!check_number(out, fmt::format("{}.template.spec.tolerations", where), "tolerations",
                    t.tolerations.size(), record_limits::tolerations))
    return;
  for (std::size_t i = 0; i < t.tolerations.size(); ++i) {
    const auto& by = t.tolerations[i];
    const auto field = fmt::format("{}.template.spec.tolerations[{}]", where, i);
    if (!by.key.empty())
      check_qualified_name(out, field + ".key", by.key);
    else if (!by.any_value)
      out.refuse(field + ".key",
                 "is empty; name a key, or tolerate every one with operator Exists");
    if (by.any_value && !by.value.empty())
      out.refuse(field + ".value", "is {}; with operator Exists there must be none",
                 in_quotes(by.value));
    else if (!is_label_value(by.value))
      out.refuse(field + ".value", "is {}; it must be as the value of a label",
                 in_quotes(by.value));
  }
}

void check_topology(findings& out, std::string_view where, const std::vector<std::string>& keys) {
  if (!check_number(out, fmt::format("{}.topology", where), "keys", keys.size(),
                    record_limits::topology_keys))
    return;
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const auto field = fmt::format("{}.topology[{}]", where, i);
    check_qualified_name(out, field, keys[i]);
    if (!seen.insert(keys[i]).second)
      out.refuse(field, "is {} once more; each key may stand there once", in_quotes(keys[i]));
  }
}

bool is_count(std::int32_t value) {
  return value >= 1 && value <= most_pods;
}

/// Counts, gang and protected members.
void check_size(findings& out, std::string_view where, const pod_group& group) {
  const auto check_count = [&](std::string_view field, std::int32_t value) {
    if (!is_count(value))
      out.refuse(fmt::format("{}.{}", where, field), "is {}; it must be 1 to {}", value, most_pods);
  };
  check_count("count", group.count);
  check_count("replicas", group.replicas);
  if (group.count < 1)
    return;
  if (group.min_count && (*group.min_count < 1 || *group.min_count > group.count))
    out.refuse(fmt::format("{}.minCount", where), "is {}; it must be 1 to the group's count, {}",
               *group.min_count, group.count);
  if (!check_number(out, fmt::format("{}.protectedMembers", where), "members",
                    group.protected_members.size(), record_limits::protected_members))
    return;
  for (std::size_t i = 0; i < group.protected_members.size(); ++i)
    if (const auto member = group.protected_members[i]; member < 0 || member >= group.count)
      out.refuse(fmt::format("{}.protectedMembers[{}]", where, i),
                 "is {}; members are numbered 0 to {}", member, group.count - 1);
}

void check_required_node(findings& out, std::string_view where, const prospect& cluster,
                         const workload& w, const std::string& name) {
  if (name.empty())
    return;
  const auto group = cluster.group_of_node(name);
  if (!group)
    out.refuse(fmt::format("{}.requiredNode", where),
               "is {}, and there is no node of that name; add it first", in_quotes(name));
  else if (*group != w.resource_group)
    out.refuse(fmt::format("{}.requiredNode", where),
               "is {}, a node of resource group {}; it must be one of the workload's group, {}",
               in_quotes(name), in_quotes(*group), in_quotes(w.resource_group));
}

void check_groups(findings& out, const prospect& cluster, const workload& w) {
  if (w.groups.empty())
    out.refuse("spec.podGroups", "is empty; a workload needs at least one pod group");
  if (!check_number(out, "spec.podGroups", "groups", w.groups.size(), record_limits::pod_groups))
    return;
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < w.groups.size(); ++i) {
    const auto& group = w.groups[i];
    const auto where = fmt::format("spec.podGroups[{}]", i);
    check_dns_label(out, where + ".name", group.name);
    if (!names.insert(group.name).second)
      out.refuse(where + ".name", "is {}, as that of an earlier group; each must have its own",
                 in_quotes(group.name));
    check_template(out, where, group.pods);
    check_size(out, where, group);
    if (group.disruption == disruption_mode::pod_group && !group.is_gang())
      out.refuse(where + ".disruptionMode",
                 "is PodGroup, which is for gangs; give minCount, or use Pod");
    check_topology(out, where, group.topology_keys);
    check_required_node(out, where, cluster, w, group.required_node);
  }
}

/// What the lifecycle phase sets is one number for a deployment, so that its pods must be alike.
void check_lifecycle(findings& out, const prospect& cluster, const workload& w) {
  const auto* group = find(cluster.after.groups, w.resource_group);
  if (group != nullptr && group->policy == group_policy::lifecycle
      && w.kind == workload_kind::deployment && w.groups.size() > 1
      && cluster.facts.find_workload(w.name) == nullptr)
    out.refuse("spec.podGroups",
               "has {} groups; a deployment in resource group {}, with the lifecycle policy, has "
               "exactly one",
               w.groups.size(), in_quotes(group->name));
}

/// The pods of gangs and of groups that are bound to a node.
std::int64_t pods_looked_at_together(const workload& w) {
  std::int64_t pods = 0;
  for (const auto& group : w.groups)
    if (group.is_gang() || !group.required_node.empty())
      pods += std::int64_t{group.count} * group.replicas;
  return pods;
}

/// The workload's pods and what they request must not be more than a cluster could have.
void check_totals(findings& out, const workload& w) {
  if (!std::all_of(w.groups.begin(), w.groups.end(), [](const pod_group& group) {
        return is_count(group.count) && is_count(group.replicas);
      }))
    return;
  if (const auto pods = pod_count(w); pods > most_pods)
    out.refuse("spec.podGroups", "ask for {} pods in all; a workload has at most {}", pods,
               most_pods);
  else if (const auto looked_at = pods_looked_at_together(w); looked_at > most_pods_looked_at)
    out.refuse("spec.podGroups",
               "ask for {} pods of gangs and of groups with a requiredNode; a workload has at most "
               "{} of those, as all of them are looked at when one changes",
               looked_at, most_pods_looked_at);
  resources total;
  for (std::size_t i = 0; i < w.groups.size(); ++i) {
    const auto& group = w.groups[i];
    const auto pods = std::int64_t{group.count} * group.replicas;
    add_times(total, group.pods.requests, pods);
    for (const auto& [name, amount] : group.pods.requests)
      if (amount > 0 && amount <= largest_amount && is_qualified_name(name)
          && amount_of(total, name) > most_in_all) {
        out.refuse(fmt::format("spec.podGroups[{}].template.spec.requests.{}", i, name),
                   "is {}, and with {} such pods the workload asks for more than {} in all, which "
                   "is the most that a cluster can have; ask for less",
                   format_quantity(amount, name), pods, format_quantity(most_in_all, name));
        return;
      }
  }
}

/// A class, a number, or both when they say the same.
void check_class_and_number(findings& out, const by_name<priority_class>& classes,
                            const std::string& class_field, const std::string& class_name,
                            const std::string& number_field,
                            const std::optional<std::int32_t>& number) {
  const auto* named = class_name.empty()
                        ? nullptr
                        : check_known(out, class_field, "priority class", classes, class_name);
  if (!number)
    return;
  if (named != nullptr && named->value != *number)
    out.refuse(number_field, "is {}, but class {} has the value {}; give one of the two", *number,
               in_quotes(class_name), named->value);
  else if (named == nullptr && *number > highest_user_priority)
    out.refuse(number_field, "is {}; it must be at most {}, above which are the built-in classes",
               *number, highest_user_priority);
}

/// The field that a priority comes from, for messages.
std::string source_field(std::string_view where, std::string_view name,
                         const std::string& class_name) {
  return fmt::format("{}.{}{}", where, name, class_name.empty() ? "" : "ClassName");
}

/// Below the priority, two workloads could preempt each other for ever; too far above it, one
/// could make cheap work untouchable (docs/policies.md#workload-aware).
void check_gap(findings& out, const std::string& field, const resource_group& group,
               const resolved_priority& r) {
  const auto gap = std::int64_t{r.preemption_priority} - r.priority;
  if (gap < 0)
    out.refuse(field,
               "makes the preemption priority {} and the priority {}; the preemption priority must "
               "not be below the priority",
               r.preemption_priority, r.priority);
  else if (group.preemption_priority_gap && gap > *group.preemption_priority_gap)
    out.refuse(field,
               "makes the preemption priority {} and the priority {}; resource group {} allows at "
               "most {} between the two",
               r.preemption_priority, r.priority, in_quotes(group.name),
               *group.preemption_priority_gap);
}

/// `fallback` is the class that the value comes from where the workload says nothing.
void check_session_scale(findings& out, const std::string& field, const resource_group& group,
                         std::int32_t value, const priority_class* fallback = nullptr) {
  if (group.policy != group_policy::sessions || is_session_priority(value))
    return;
  const auto source =
    fallback == nullptr
      ? std::string{}
      : fmt::format("is not given, and the global default, class {}, ", in_quotes(fallback->name));
  out.refuse(field,
             "{}makes the priority {}; in resource group {}, with the sessions policy, it must be "
             "{} to {}",
             source, value, in_quotes(group.name), lowest_session_priority,
             highest_session_priority);
}

void check_priorities(findings& out, const prospect& cluster, const workload& w) {
  const auto& classes = cluster.after.classes;
  check_class_and_number(out, classes, "spec.priorityClassName", w.priority_class, "spec.priority",
                         w.priority);
  check_class_and_number(out, classes, "spec.preemptionPriorityClassName",
                         w.preemption_priority_class, "spec.preemptionPriority",
                         w.preemption_priority);
  for (std::size_t i = 0; i < w.groups.size(); ++i) {
    const auto where = fmt::format("spec.podGroups[{}]", i);
    check_class_and_number(out, classes, where + ".priorityClassName", w.groups[i].priority_class,
                           where + ".priority", w.groups[i].priority);
  }

  const auto* group = find(cluster.after.groups, w.resource_group);
  if (group == nullptr)
    return;
  const auto* status = cluster.facts.find_status(w.name);
  const auto resolved = resolve_priorities(w, cluster.after, status);
  const auto field = source_field("spec", "priority", w.priority_class);
  const auto preemption_field =
    source_field("spec", "preemptionPriority", w.preemption_priority_class);
  // What was admitted before stays, even if the group has got another policy since.
  if (status == nullptr)
    check_session_scale(out, field, *group, resolved.whole.priority,
                        w.priority_class.empty() && !w.priority ? global_default(cluster.after)
                                                                : nullptr);
  if (resolved.whole.preemption_priority != resolved.whole.priority)
    check_session_scale(out, preemption_field, *group, resolved.whole.preemption_priority);
  check_gap(out, preemption_field, *group, resolved.whole);
  for (std::size_t i = 0; i < w.groups.size(); ++i) {
    const auto& own = w.groups[i];
    if (own.priority_class.empty() && !own.priority)
      continue;
    const auto own_field =
      source_field(fmt::format("spec.podGroups[{}]", i), "priority", own.priority_class);
    if (status == nullptr)
      check_session_scale(out, own_field, *group, resolved.by_group[i].priority);
    check_gap(out, own_field, *group, resolved.by_group[i]);
  }
}

std::string shown(const std::string& text) {
  return text.empty() ? "not given" : in_quotes(text);
}

std::string shown(const std::optional<std::int32_t>& number) {
  return number ? std::to_string(*number) : "not given";
}

template <class T>
void keep(findings& out, std::string field, const T& before, const T& now) {
  constexpr std::string_view remedy =
    "it can't be changed, so remove the workload and submit it anew";
  if (before == now)
    return;
  if constexpr (requires { shown(now); })
    out.refuse(std::move(field), "is {}, and was {}; {}", shown(now), shown(before), remedy);
  else
    out.refuse(std::move(field), "is not what it was; {}", remedy);
}

/// Everything of a group but its size is fixed: pods that run were made from it.
void check_kept(findings& out, const std::string& where, const pod_group& before,
                const pod_group& now) {
  const auto& pods = before.pods;
  keep(out, where + ".name", before.name, now.name);
  keep(out, where + ".template.spec.requests", pods.requests, now.pods.requests);
  keep(out, where + ".template.metadata.labels", pods.labels, now.pods.labels);
  keep(out, where + ".template.metadata.annotations", pods.annotations, now.pods.annotations);
  keep(out, where + ".template.spec.nodeSelector", pods.node_selector, now.pods.node_selector);
  keep(out, where + ".template.spec.tolerations", pods.tolerations, now.pods.tolerations);
  keep(out, where + ".template.spec.priority", pods.priority, now.pods.priority);
  keep(out, where + ".minCount", before.min_count, now.min_count);
  keep(out, where + ".disruptionMode", before.disruption, now.disruption);
  keep(out, where + ".topology", before.topology_keys, now.topology_keys);
  keep(out, where + ".requiredNode", before.required_node, now.required_node);
  keep(out, where + ".priorityClassName", before.priority_class, now.priority_class);
  keep(out, where + ".priority", before.priority, now.priority);
  keep(out, where + ".protectedMembers", before.protected_members, now.protected_members);
}

void check_kept(findings& out, const workload& before, const workload& now) {
  keep(out, "spec.resourceGroup", before.resource_group, now.resource_group);
  keep(out, "spec.queue", before.queue, now.queue);
  keep(out, "spec.kind", before.kind, now.kind);
  keep(out, "spec.priorityClassName", before.priority_class, now.priority_class);
  keep(out, "spec.priority", before.priority, now.priority);
  if (before.groups.size() != now.groups.size()) {
    out.refuse("spec.podGroups",
               "has {} groups, and had {}; their number can't be changed, so remove the workload "
               "and submit it anew",
               now.groups.size(), before.groups.size());
    return;
  }
  for (std::size_t i = 0; i < now.groups.size(); ++i)
    check_kept(out, fmt::format("spec.podGroups[{}]", i), before.groups[i], now.groups[i]);
}

/// A queue that is full takes no more workloads; those that it has may be changed.
void check_queue_fill(findings& out, const prospect& cluster, const workload& w) {
  const auto added = cluster.overfilled.find(w.queue);
  if (added == cluster.overfilled.end() || cluster.facts.find_workload(w.name) != nullptr)
    return;
  const auto fill = cluster.facts.fill_of_queue(w.queue);
  out.refuse(
    "spec.queue",
    "is {}, which has {} workloads and may have {}, so {} more is too many; delete some, or "
    "raise --workloads-per-queue of reprieved",
    in_quotes(w.queue), fill.workloads, fill.most, added->second);
}

} // namespace

void check(findings& out, const prospect& cluster, const workload& w) {
  check_dns_label(out, "metadata.name", w.name);
  check_labels(out, "metadata.labels", w.labels);
  check_known(out, "spec.resourceGroup", "resource group", cluster.after.groups, w.resource_group);
  check_known(out, "spec.queue", "queue", cluster.after.queues, w.queue);
  check_queue_fill(out, cluster, w);
  check_groups(out, cluster, w);
  check_lifecycle(out, cluster, w);
  check_totals(out, w);
  if (const auto bytes = bytes_of(w);
      bytes > record_limits::workload_bytes && std::ranges::none_of(w.groups, is_too_large))
    out.refuse("spec", "takes {} bytes in a record; it may take at most {}", bytes,
               record_limits::workload_bytes);
  check_priorities(out, cluster, w);
  check_wait(out, "spec.minimumRuntime", w.minimum_runtime);
  check_wait(out, "spec.gracePeriod", w.grace_period);
  check_wait(out, "spec.checkpoint.timeNeeded", w.checkpoint.time_needed);
  check_wait(out, "spec.resume.backoff", w.resume.backoff);
  check_at_least(out, "spec.resume.limit", w.resume.limit, 0);
  if (const auto* before = cluster.facts.find_workload(w.name))
    check_kept(out, *before, w);
  check_ceilings(out, cluster, w);
}

} // namespace reprieve::rules
