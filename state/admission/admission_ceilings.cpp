#include "state/admission/admission_rules.hpp"
#include "state/quantities/quantity.hpp"

#include <fmt/ranges.h>

#include <optional>

namespace reprieve::rules {

namespace {

/// What a ceiling comes to, and the queue that sets it.
template <class T>
struct tightest_ceiling {
  T most{};
  const queue* by = nullptr;
};

/// A workload's queue with those above it, whose ceilings all hold.
class queues_above {
public:
  queues_above(const by_name<queue>& queues, std::string_view name) {
    for (const auto* at = find(queues, name); at != nullptr && chain_.size() <= queues.size();
         at = find(queues, at->parent))
      chain_.push_back(at);
  }

  auto begin() const {
    return chain_.begin();
  }
  auto end() const {
    return chain_.end();
  }

  /// `ceiling_of` tells what one queue's ceilings say, if they do; of equals the nearest counts.
  template <class F>
  auto tightest(F ceiling_of) const {
    using value_type = typename std::invoke_result_t<F, const queue_ceilings&>::value_type;
    std::optional<tightest_ceiling<value_type>> found;
    for (const auto* one : chain_)
      if (const auto most = ceiling_of(one->ceilings); most && (!found || *most < found->most))
        found = tightest_ceiling<value_type>{*most, one};
    return found;
  }

  /// The nearest queue whose ceilings forbid something that they say yes or no to.
  const queue* forbidden(bool queue_ceilings::*allowed) const {
    for (const auto* one : chain_)
      if (!(one->ceilings.*allowed))
        return one;
    return nullptr;
  }

private:
  std::vector<const queue*> chain_; ///< the workload's own first
};

std::string shown(duration d) {
  return format_duration(d);
}

std::string shown(std::int64_t number) {
  return std::to_string(number);
}

/// Refuses more of something than the tightest ceiling allows. `asks` goes on where the field's
/// name ends and has a place for the value; `name` is the ceiling's own field.
template <class T>
void check_most(findings& out, const queues_above& above, std::string_view field,
                fmt::format_string<std::string> asks, T value, std::string_view name,
                std::optional<T> queue_ceilings::*ceiling) {
  const auto found = above.tightest([&](const queue_ceilings& of) { return of.*ceiling; });
  if (found && value > found->most)
    out.refuse(std::string{field},
               "{}; queue {} allows submitters at most {} (spec.ceilings.{}): ask for no more, or "
               "have an operator raise it",
               fmt::format(asks, shown(value)), in_quotes(found->by->name), shown(found->most),
               name);
}

bool has(const std::vector<std::string>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

/// A priority that a workload or one of its groups comes to.
struct asked_priority {
  std::string field;
  std::string_view class_name; ///< empty where it names none
  std::int32_t value = 0;
  bool as_victim = false; ///< it is a preemption priority
};

/// Numbers can't be above the users' own, so that whoever is has named a class of the system.
bool is_of_the_system(const asked_priority& asked) {
  return asked.value > highest_user_priority;
}

/// Refuses a class that some queue does not list.
bool check_class(findings& out, const queues_above& above, const asked_priority& asked) {
  if (asked.class_name.empty())
    return true;
  for (const auto* one : above)
    if (const auto& listed = one->ceilings.priority_classes;
        !listed.empty() && !has(listed, asked.class_name)) {
      out.refuse(asked.field,
                 "is {}; queue {} allows submitters only the classes {} "
                 "(spec.ceilings.priorityClasses): name one of these, or have an operator add it",
                 in_quotes(asked.class_name), in_quotes(one->name), fmt::join(listed, ", "));
      return false;
    }
  return true;
}

bool check_priority(findings& out, const queues_above& above, const asked_priority& asked) {
  const auto most = above.tightest([&](const queue_ceilings& of) {
    return asked.as_victim && of.preemption_priority ? of.preemption_priority : of.priority;
  });
  const auto* kind = asked.as_victim ? "preemption priority" : "priority";
  if (most && asked.value > most->most) {
    out.refuse(asked.field,
               "makes the {} {}; queue {} allows submitters at most {} (spec.ceilings.{}): ask for "
               "no more, or have an operator raise it",
               kind, asked.value, in_quotes(most->by->name), most->most,
               asked.as_victim && most->by->ceilings.preemption_priority ? "preemptionPriority"
                                                                         : "priority");
    return false;
  }
  if (!check_class(out, above, asked))
    return false;
  const auto names_it = [&](const queue* one) {
    return has(one->ceilings.priority_classes, asked.class_name);
  };
  if (most || !is_of_the_system(asked) || std::ranges::any_of(above, names_it))
    return true;
  out.refuse(asked.field,
             "makes the {} {}, which is that of the system's own classes; submitters may have it "
             "only where their queue or one above it opens it (spec.ceilings.priority or "
             "priorityClasses): name another class, or have an operator open it",
             kind, asked.value);
  return false;
}

std::string priority_field(std::string_view where, std::string_view name,
                           std::string_view class_name) {
  return fmt::format("{}.{}{}", where, name, class_name.empty() ? "" : "ClassName");
}

void check_priorities(findings& out, const prospect& cluster, const queues_above& above,
                      const workload& w) {
  const auto resolved = resolve_priorities(w, cluster.after, cluster.facts.find_status(w.name));
  const bool as_victim = w.preemption_priority || !w.preemption_priority_class.empty();
  const auto check_both = [&](asked_priority asked, const resolved_priority& of) {
    asked.value = of.priority;
    if (!check_priority(out, above, asked) || as_victim)
      return;
    asked.value = of.preemption_priority;
    asked.as_victim = true;
    check_priority(out, above, asked);
  };
  check_both({priority_field("spec", "priority", w.priority_class), w.priority_class},
             resolved.whole);
  if (as_victim)
    check_priority(out, above,
                   {priority_field("spec", "preemptionPriority", w.preemption_priority_class),
                    w.preemption_priority_class, resolved.whole.preemption_priority, true});
  for (std::size_t i = 0; i < w.groups.size(); ++i)
    if (const auto& own = w.groups[i]; own.priority || !own.priority_class.empty())
      check_both(
        {priority_field(fmt::format("spec.podGroups[{}]", i), "priority", own.priority_class),
         own.priority_class},
        resolved.by_group[i]);
}

/// What the workload asks for; nothing where that makes no sense, which is refused by itself.
std::int64_t pods_asked(const workload& w) {
  const auto is_count = [](std::int32_t value) { return value >= 1 && value <= most_pods; };
  return std::ranges::all_of(w.groups,
                             [&](const pod_group& group) {
                               return is_count(group.count) && is_count(group.replicas);
                             })
           ? pod_count(w)
           : 0;
}

std::int64_t protected_pods(const workload& w) {
  std::int64_t pods = 0;
  for (const auto& group : w.groups) {
    const std::set<std::int32_t> members{group.protected_members.begin(),
                                         group.protected_members.end()};
    pods += std::ssize(members) * group.replicas;
  }
  return pods;
}

std::int64_t annotation_bytes(const workload& w) {
  std::int64_t bytes = 0;
  const auto add = [&](const string_map& texts) {
    for (const auto& [key, value] : texts)
      bytes += std::ssize(key) + std::ssize(value);
  };
  add(w.labels);
  for (const auto& group : w.groups) {
    add(group.pods.labels);
    add(group.pods.annotations);
  }
  return bytes;
}

void check_nodes(findings& out, const queues_above& above, const workload& w) {
  if (const auto* by = above.forbidden(&queue_ceilings::daemons);
      by != nullptr && w.kind == workload_kind::daemon)
    out.refuse("spec.kind",
               "is daemon; queue {} allows submitters none (spec.ceilings.daemons): give another "
               "kind, or have an operator allow it",
               in_quotes(by->name));
  const auto* by = above.forbidden(&queue_ceilings::required_nodes);
  for (std::size_t i = 0; by != nullptr && i < w.groups.size(); ++i)
    if (const auto& name = w.groups[i].required_node; !name.empty())
      out.refuse(fmt::format("spec.podGroups[{}].requiredNode", i),
                 "is {}; queue {} does not let submitters name the node of a pod "
                 "(spec.ceilings.requiredNodes): leave it out, or have an operator allow it",
                 in_quotes(name), in_quotes(by->name));
}

bool is_below(const by_name<queue>& queues, std::string_view name, std::string_view ancestor) {
  const queues_above above{queues, name};
  return std::ranges::any_of(above, [&](const queue* one) { return one->name == ancestor; });
}

/// Whoever asks for no more pods than before is not in the way of others.
void check_pods(findings& out, const prospect& cluster, const queues_above& above,
                const workload& w) {
  const auto asked = pods_asked(w);
  check_most(out, above, "spec.podGroups", "ask for {} pods in all", asked, "podsPerWorkload",
             &queue_ceilings::pods_per_workload);
  const auto* before = cluster.facts.find_workload(w.name);
  if (before != nullptr && asked <= pods_asked(*before))
    return;
  for (const auto* one : above) {
    if (!one->ceilings.pods)
      continue;
    std::int64_t all = 0;
    for (const auto& [name, pods] : cluster.pods_by_queue)
      if (is_below(cluster.after.queues, name, one->name))
        all += pods;
    if (all > *one->ceilings.pods) {
      out.refuse("spec.podGroups",
                 "ask for {} pods in all, and with them the workloads of queue {} for {}; it "
                 "allows submitters at most {} (spec.ceilings.pods): ask for fewer, delete "
                 "others, or have an operator raise it",
                 asked, in_quotes(one->name), all, *one->ceilings.pods);
      return;
    }
  }
}

/// Admins are above all ceilings.
bool holds_to_ceilings(const caller* by) {
  return by != nullptr && by->role != caller_role::admin;
}

} // namespace

by_name<std::int64_t> pods_by_queue_with(const prospect& cluster) {
  const auto counts_pods = [&](const auto& one) {
    const queues_above above{cluster.after.queues, one.second->queue};
    return std::ranges::any_of(above,
                               [](const queue* of) { return of->ceilings.pods.has_value(); });
  };
  if (!holds_to_ceilings(cluster.by) || std::ranges::none_of(cluster.workloads, counts_pods))
    return {};
  auto counts = cluster.facts.pods_by_queue();
  for (const auto& [name, w] : cluster.workloads) {
    counts[w->queue] += pods_asked(*w);
    if (const auto* before = cluster.facts.find_workload(name))
      counts[before->queue] -= pods_asked(*before);
  }
  return counts;
}

void check_ceilings(findings& out, const prospect& cluster, const workload& w) {
  if (!holds_to_ceilings(cluster.by))
    return;
  if (const auto* before = cluster.facts.find_workload(w.name); before != nullptr && *before == w)
    return;
  const queues_above above{cluster.after.queues, w.queue};
  check_priorities(out, cluster, above, w);
  check_most(out, above, "spec.minimumRuntime", "is {}", w.minimum_runtime, "minimumRuntime",
             &queue_ceilings::minimum_runtime);
  check_most(out, above, "spec.gracePeriod", "is {}", w.grace_period, "gracePeriod",
             &queue_ceilings::grace_period);
  check_most(out, above, "spec.checkpoint.timeNeeded", "is {}", w.checkpoint.time_needed,
             "checkpointTimeNeeded", &queue_ceilings::checkpoint_time);
  check_most(out, above, "spec.podGroups", "have {} pods that are protected members",
             protected_pods(w), "protectedPods", &queue_ceilings::protected_pods);
  check_most(out, above, "spec", "has labels and annotations of {} bytes, with those of its pods",
             annotation_bytes(w), "annotationBytes", &queue_ceilings::annotation_bytes);
  check_nodes(out, above, w);
  check_pods(out, cluster, above, w);
}

void check_ceilings(findings& out, const queue& q) {
  const auto& of = q.ceilings;
  constexpr std::string_view classes = "spec.ceilings.priorityClasses";
  if (check_number(out, classes, "classes", of.priority_classes.size(), record_limits::labels))
    for (const auto& name : of.priority_classes)
      check_dns_label(out, std::string{classes}, name);
  const auto check_length = [&](std::string_view field, const std::optional<duration>& most) {
    if (most)
      check_wait(out, fmt::format("spec.ceilings.{}", field), *most);
  };
  check_length("minimumRuntime", of.minimum_runtime);
  check_length("gracePeriod", of.grace_period);
  check_length("checkpointTimeNeeded", of.checkpoint_time);
  const auto check_count = [&](std::string_view field, const std::optional<std::int64_t>& most) {
    if (most)
      check_at_least<std::int64_t>(out, fmt::format("spec.ceilings.{}", field), *most, 0);
  };
  check_count("protectedPods", of.protected_pods);
  check_count("podsPerWorkload", of.pods_per_workload);
  check_count("pods", of.pods);
  check_count("annotationBytes", of.annotation_bytes);
}

} // namespace reprieve::rules
