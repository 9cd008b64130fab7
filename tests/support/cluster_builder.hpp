#pragma once

#include "preemption/problem/preemptor.hpp"
#include "state/view/cluster_view.hpp"

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

/// A small language for clusters and those who want in:
///
///   cluster().node("n1", gpu(8)).running("a", prio(5), gpu(4)).view()
///   gang("train", prio(100), members(4, gpu(8)), within({"zone"}))
///
/// Amounts are whole units, times are seconds after `epoch`.
namespace reprieve::tests {

inline constexpr time_point epoch{std::chrono::hours{24 * 365 * 50}};

constexpr time_point at(std::int64_t seconds) {
  return epoch + std::chrono::seconds{seconds};
}

// -- traits: each says what it does to the things it can be said of ------------------------------

struct amount {
  std::string resource;
  std::int64_t value = 0;

  void operator()(node& n) const {
    n.capacity[resource] = value;
  }
  void operator()(pod& p) const {
    p.requests[resource] = value;
  }
};

amount gpu(std::int64_t n);
amount cpu(std::int64_t n);
amount memory(std::int64_t n);

struct prio {
  std::int32_t value;

  explicit prio(std::int32_t v) : value(v) {}
  void operator()(pod& p) const {
    p.priority = value;
  }
  void operator()(preemptor& who) const {
    who.priority = value;
  }
};

/// Of a node or a pod.
struct label {
  std::string key;
  std::string value;

  void operator()(node& n) const {
    n.labels[key] = value;
  }
  void operator()(pod& p) const {
    p.labels[key] = value;
  }
};

struct selecting {
  std::string key;
  std::string value;

  void operator()(wanted_group& g) const {
    g.node_selector[key] = value;
  }
};

struct tainted {
  std::string key;

  void operator()(node& n) const {
    n.taints.push_back({key, "", taint_effect::no_schedule});
  }
};

struct tolerating {
  std::string key;

  void operator()(wanted_group& g) const {
    g.tolerations.push_back({key, true, "", std::nullopt});
  }
};

struct not_ready {
  void operator()(node& n) const {
    n.ready = false;
  }
};

struct started {
  std::int64_t seconds;

  void operator()(pod& p) const {
    p.started = at(seconds);
  }
};

struct checkpointed {
  std::int64_t seconds;

  void operator()(pod& p) const {
    p.checkpointed = at(seconds);
  }
};

struct in_phase {
  pod_phase phase;

  void operator()(pod& p) const {
    p.phase = phase;
  }
};

/// A victim of an earlier decision, which has not left yet.
struct chosen_already {
  void operator()(pod& p) const {
    p.evicted_by = "earlier";
  }
};

struct daemon {
  void operator()(pod& p) const {
    p.daemon = true;
  }
};

struct opted_out {
  void operator()(pod& p) const {
    p.opted_out = true;
  }
};

struct protected_index {
  std::int32_t index;

  void operator()(pod& p) const {
    p.protected_member = p.protected_member || p.index == index;
  }
};

struct never_preempts {
  void operator()(preemptor& who) const {
    who.may_preempt = false;
  }
};

struct within {
  std::vector<std::string> keys;

  void operator()(preemptor& who) const {
    for (auto& group : who.groups)
      group.topology_keys = keys;
  }
};

struct required {
  std::string node;

  void operator()(wanted_group& g) const {
    g.required_node = node;
  }
};

/// How many of a group's pods must have a place; all, where it is not said.
struct at_least {
  std::int32_t pods;

  void operator()(wanted_group& g) const {
    g.needed = pods;
  }
};

/// Says of `to` all traits that can be said of it.
template <class To, class... Traits>
void describe(To& to, const Traits&... traits) {
  const auto say = [&](const auto& trait) {
    if constexpr (std::is_invocable_v<decltype(trait), To&>)
      trait(to);
  };
  (say(traits), ...);
}

// -- those who want in ---------------------------------------------------------------------------

/// A group of `count` pods of one template.
template <class... Traits>
wanted_group members(std::int32_t count, const Traits&... traits) {
  wanted_group group;
  group.needed = count;
  pod made;
  describe(made, traits...);
  made.disruption = disruption_mode::pod_group;
  group.pods.assign(static_cast<std::size_t>(count), made);
  describe(group, traits...);
  return group;
}

/// Names and numbers the groups and pods, as a workload of this name has them. All of its pods have
/// one priority.
preemptor named(preemptor who, const std::string& workload);

/// A single pod: `lone("web", prio(10), gpu(1))`.
template <class... Traits>
preemptor lone(const std::string& workload, const Traits&... traits) {
  preemptor who;
  who.groups.push_back(members(1, traits...));
  describe(who, traits...);
  return named(std::move(who), workload);
}

/// `gang("train", prio(100), members(1, cpu(4)), members(8, gpu(8)))`.
template <class... Traits>
preemptor gang(const std::string& workload, const Traits&... traits) {
  preemptor who;
  who.gang = true;
  const auto add = [&](const auto& trait) {
    if constexpr (std::is_same_v<std::decay_t<decltype(trait)>, wanted_group>)
      who.groups.push_back(trait);
  };
  (add(traits), ...);
  describe(who, traits...);
  return named(std::move(who), workload);
}

// -- clusters ------------------------------------------------------------------------------------

class cluster {
public:
  template <class... Traits>
  cluster& node(const std::string& name, const Traits&... traits) {
    reprieve::node made;
    made.name = name;
    describe(made, traits...);
    nodes_.push_back(std::move(made));
    return *this;
  }

  /// A workload of one pod on the node named last.
  template <class... Traits>
  cluster& running(const std::string& workload, const Traits&... traits) {
    return spread(workload, disruption_mode::pod, {nodes_.back().name}, traits...);
  }

  /// A workload with a pod on each of these nodes, which go one by one.
  template <class... Traits>
  cluster& pods(const std::string& workload, const std::vector<std::string>& on,
                const Traits&... traits) {
    return spread(workload, disruption_mode::pod, on, traits...);
  }

  /// A workload with a pod on each of these nodes, which go together.
  template <class... Traits>
  cluster& group(const std::string& workload, const std::vector<std::string>& on,
                 const Traits&... traits) {
    return spread(workload, disruption_mode::pod_group, on, traits...);
  }

  /// At least `available` pods with the label must run.
  cluster& budget(const std::string& name, const label& selected, std::int32_t available);

  const std::vector<reprieve::node>& all_nodes() const {
    return nodes_;
  }
  const std::vector<pod>& all_pods() const {
    return pods_;
  }
  const std::vector<disruption_budget>& all_budgets() const {
    return budgets_;
  }

  cluster_view view() const;

private:
  template <class... Traits>
  cluster& spread(const std::string& workload, disruption_mode mode,
                  const std::vector<std::string>& on, const Traits&... traits) {
    for (std::size_t i = 0; i < on.size(); ++i) {
      auto made = running_pod(workload, mode, static_cast<std::int32_t>(i), on[i]);
      describe(made, traits...);
      pods_.push_back(std::move(made));
    }
    return *this;
  }

  static pod running_pod(const std::string& workload, disruption_mode mode, std::int32_t index,
                         const std::string& on);

  std::vector<reprieve::node> nodes_;
  std::vector<pod> pods_;
  std::vector<disruption_budget> budgets_;
};

/// A settled view of these, put in this order.
cluster_view view_of(const std::vector<node>& nodes, const std::vector<pod>& pods,
                     const std::vector<disruption_budget>& budgets);

} // namespace reprieve::tests
