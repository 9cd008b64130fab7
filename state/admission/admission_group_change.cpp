#include "state/admission/admission_rules.hpp"

// What a resource group holds must go with the settings that it gets.

namespace reprieve::rules {

namespace {

/// Workloads that do not go with a setting: the first by name, what is wrong with it, and how many
/// there are.
class misfits {
public:
  void add(const workload& w, std::string what) {
    if (count_++ > 0)
      return;
    first_ = w.name;
    what_ = std::move(what);
  }
  bool empty() const {
    return count_ == 0;
  }
  /// `workload 'train' of the group has …`
  std::string told() const {
    auto text = fmt::format("workload {} of the group {}", in_quotes(first_), what_);
    if (count_ > 1)
      text += fmt::format(" (and {} more like it)", count_ - 1);
    return text;
  }

private:
  std::int64_t count_ = 0;
  std::string first_;
  std::string what_;
};

std::string_view to_string(group_policy policy) {
  switch (policy) {
  case group_policy::lifecycle:
    return "Lifecycle";
  case group_policy::sessions:
    return "Sessions";
  case group_policy::workload_aware:
    break;
  }
  return "WorkloadAware";
}

/// What of the workload's priorities is outside the scale of sessions; empty where nothing is.
std::string off_session_scale(const workload& w, const resolved_priorities& resolved) {
  const auto& whole = resolved.whole;
  if (!is_session_priority(whole.priority))
    return fmt::format("has the priority {}", whole.priority);
  if (!is_session_priority(whole.preemption_priority))
    return fmt::format("has the preemption priority {}", whole.preemption_priority);
  for (std::size_t i = 0; i < w.groups.size(); ++i)
    if (!is_session_priority(resolved.by_group[i].priority))
      return fmt::format("has a pod group, {}, of the priority {}", in_quotes(w.groups[i].name),
                         resolved.by_group[i].priority);
  return {};
}

/// The largest distance between a priority and the preemption priority that goes with it.
resolved_priority widest_gap(const resolved_priorities& resolved) {
  auto widest = resolved.whole;
  for (const auto& own : resolved.by_group)
    if (std::int64_t{own.preemption_priority} - own.priority
        > std::int64_t{widest.preemption_priority} - widest.priority)
      widest = own;
  return widest;
}

} // namespace

void check_what_it_holds(findings& out, const prospect& cluster, const resource_group& g) {
  const auto* before = find(cluster.before.groups, g.name);
  if (before == nullptr)
    return;
  const bool other_policy = before->policy != g.policy;
  const auto least_gap = before->preemption_priority_gap;
  const bool smaller_gap =
    g.preemption_priority_gap && (!least_gap || *g.preemption_priority_gap < *least_gap);
  if (!other_policy && !smaller_gap)
    return;
  misfits sessions;
  misfits deployments;
  misfits too_far;
  std::int64_t widest = 0;
  cluster.facts.each_workload_in(g.name, [&](const workload& known, const workload_status* status) {
    // One that the same batch changes counts as it will be.
    const auto& w = *cluster.find_workload(known.name);
    const auto resolved = resolve_priorities(w, cluster.after, status);
    if (other_policy && g.policy == group_policy::sessions)
      if (auto what = off_session_scale(w, resolved); !what.empty())
        sessions.add(w, std::move(what));
    if (other_policy && g.policy == group_policy::lifecycle && w.kind == workload_kind::deployment
        && w.groups.size() > 1)
      deployments.add(w, fmt::format("is a deployment with {} pod groups", w.groups.size()));
    const auto [priority, preemption, may_preempt] = widest_gap(resolved);
    const auto gap = std::int64_t{preemption} - priority;
    if (smaller_gap && gap > *g.preemption_priority_gap) {
      too_far.add(
        w, fmt::format("has the preemption priority {} and the priority {}", preemption, priority));
      widest = std::max(widest, gap);
    }
  });
  if (!sessions.empty())
    out.refuse("spec.policy",
               "is Sessions, but {}; with that policy all must be {} to {}, so remove what is not, "
               "or leave the policy at {}",
               sessions.told(), lowest_session_priority, highest_session_priority,
               to_string(before->policy));
  if (!deployments.empty())
    out.refuse(
      "spec.policy",
      "is Lifecycle, but {}; with that policy a deployment has exactly one, so remove what "
      "has more, or leave the policy at {}",
      deployments.told(), to_string(before->policy));
  if (!too_far.empty())
    out.refuse("spec.preemptionPriorityGap",
               "is {}, but {}; give at least {}, or lower the preemption priority first",
               *g.preemption_priority_gap, too_far.told(), widest);
}

} // namespace reprieve::rules
