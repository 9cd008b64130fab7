#pragma once

#include "state/admission/admission.hpp"

#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// A small cluster that admission is asked about, and objects that would be admitted to it.
namespace reprieve::admission_tests {

inline constexpr std::int64_t gib = std::int64_t{1} << 30;
inline constexpr std::int64_t one_gpu = 1000;

struct known_facts : admission_facts {
  std::map<std::string, std::string, std::less<>> group_by_node;
  by_name<workload> workloads;
  by_name<workload_status> statuses;
  std::map<std::pair<object_kind, std::string>, object_reference> users;
  by_name<queue_fill> fills;
  by_name<resources> capacities; ///< by node
  by_name<std::int64_t> pods;    ///< by queue

  std::optional<std::string> group_of_node(std::string_view name) const override {
    const auto found = group_by_node.find(name);
    return found == group_by_node.end() ? std::nullopt : std::optional{found->second};
  }
  const resources* capacity_of_node(std::string_view name) const override {
    return find(capacities, name);
  }
  by_name<wide_int> capacity_in_all() const override {
    by_name<wide_int> total;
    for (const auto& [node, capacity] : capacities)
      for (const auto& [resource, amount] : capacity)
        total[resource] += amount;
    return total;
  }
  const workload* find_workload(std::string_view name) const override {
    return find(workloads, name);
  }
  const workload_status* find_status(std::string_view name) const override {
    return find(statuses, name);
  }
  std::optional<object_reference> user_of(object_kind kind, std::string_view name) const override {
    const auto found = users.find({kind, std::string{name}});
    return found == users.end() ? std::nullopt : std::optional{found->second};
  }
  void each_workload_in(
    std::string_view group,
    const std::function<void(const workload&, const workload_status*)>& look) const override {
    for (const auto& [name, w] : workloads)
      if (w.resource_group == group)
        look(w, find_status(name));
  }
  queue_fill fill_of_queue(std::string_view name) const override {
    const auto* found = find(fills, name);
    return found == nullptr ? queue_fill{} : *found;
  }
  by_name<std::int64_t> pods_by_queue() const override {
    return pods;
  }
};

struct cluster {
  catalog known = initial_catalog();
  known_facts facts;
};

inline priority_class
a_class(std::string name, std::int32_t value, bool global_default = false,
        preemption_policy policy = preemption_policy::preempt_lower_priority) {
  return {std::move(name), value, global_default, policy};
}

inline queue a_queue(std::string name, std::string parent = "", std::int64_t guaranteed_gpus = 0) {
  queue q;
  q.name = std::move(name);
  q.parent = std::move(parent);
  if (guaranteed_gpus > 0)
    q.guaranteed["gpu"] = guaranteed_gpus * one_gpu;
  return q;
}

inline queue a_limited_queue(std::string name, std::int64_t limit_gpus) {
  auto q = a_queue(std::move(name));
  q.limit["gpu"] = limit_gpus * one_gpu;
  return q;
}

inline resource_group a_group(std::string name,
                              group_policy policy = group_policy::workload_aware) {
  resource_group g;
  g.name = std::move(name);
  g.policy = policy;
  return g;
}

inline node a_node(std::string name, std::string group = "default") {
  node n;
  n.name = std::move(name);
  n.resource_group = std::move(group);
  n.capacity = {{"cpu", 64000}, {"memory", 512 * gib}, {"gpu", 8 * one_gpu}};
  return n;
}

/// A gang of four pods with a GPU each, which runs from two on.
inline workload a_workload(std::string name) {
  pod_group workers;
  workers.name = "workers";
  workers.count = 4;
  workers.min_count = 2;
  workers.pods.requests = {{"cpu", 500}, {"gpu", one_gpu}};
  workload w;
  w.name = std::move(name);
  w.groups.push_back(std::move(workers));
  return w;
}

inline placement a_placement(std::string name, std::string deployment) {
  placement p;
  p.name = std::move(name);
  p.deployment = std::move(deployment);
  p.cluster = "default";
  return p;
}

inline disruption_budget a_budget(std::string name) {
  disruption_budget b;
  b.name = std::move(name);
  b.match_labels = {{"app", "web"}};
  b.min_available = 1;
  return b;
}

/// `o` after `change`.
template <class T>
T with(T o, const std::function<void(T&)>& change) {
  change(o);
  return o;
}

/// Classes low (10), high (1000) and meek (20, Never); queues research (limit 8 GPUs) with vision
/// (guaranteed 5) below it; resource groups capped (a gap of at most 50) and sessions; nodes n1 in
/// default and n2 in capped; and the workloads train (of class low) and web (a deployment).
inline cluster a_cluster() {
  cluster c;
  for (const object& o : std::vector<object>{
         a_class("low", 10), a_class("high", 1000),
         a_class("meek", 20, false, preemption_policy::never), a_limited_queue("research", 8),
         a_queue("vision", "research", 5),
         with<resource_group>(a_group("capped"), [](auto& g) { g.preemption_priority_gap = 50; }),
         a_group("sessions", group_policy::sessions)})
    put_in(c.known, o);
  c.facts.group_by_node = {{"n1", "default"}, {"n2", "capped"}};
  for (auto* name : {"train", "web"}) {
    auto& w = c.facts.workloads[name] = a_workload(name);
    w.priority_class = "low";
    c.facts.statuses[name].resolved = {10, 10, true};
  }
  c.facts.workloads["web"].kind = workload_kind::deployment;
  return c;
}

} // namespace reprieve::admission_tests
