#pragma once

#include "state/view/cluster_view.hpp"

#include <fmt/format.h>
#include <rapidcheck.h>

#include <cstdint>
#include <map>
#include <ostream>
#include <string>
#include <variant>
#include <vector>

namespace reprieve {

// -- what is done to a view ----------------------------------------------------------------------

struct removal {
  enum class kind { node, pod, budget } what = kind::pod;
  std::string name;
};
struct settling {};
struct expectation {
  string_map labels;
  std::int64_t pods = 0;
};
/// A pod that is there comes further.
struct progress {
  std::string uid;
  pod_phase phase = pod_phase::running;
  time_point started;
  std::string evicted_by;

  pod of(pod p) const {
    p.phase = phase;
    p.started = started;
    p.evicted_by = evicted_by;
    return p;
  }
};
using operation =
  std::variant<pod, node, disruption_budget, removal, settling, expectation, progress>;

inline std::string text_of(const operation& o) {
  struct {
    std::string operator()(const pod& p) const {
      return fmt::format("put pod {} {}/{} on {} phase {} priority {} evicted by '{}'", p.uid,
                         to_string(portion_of(p)), p.index, p.node, static_cast<int>(p.phase),
                         p.priority, p.evicted_by);
    }
    std::string operator()(const node& n) const {
      return fmt::format("put node {} with {} resources", n.name, n.capacity.size());
    }
    std::string operator()(const disruption_budget& b) const {
      return fmt::format("put budget {}", b.name);
    }
    std::string operator()(const removal& r) const {
      return fmt::format("remove {}", r.name);
    }
    std::string operator()(const settling&) const {
      return "settle";
    }
    std::string operator()(const expectation& e) const {
      return fmt::format("expect {} pods with {} labels", e.pods, e.labels.size());
    }
    std::string operator()(const progress& p) const {
      return fmt::format("pod {} comes to phase {} evicted by '{}'", p.uid,
                         static_cast<int>(p.phase), p.evicted_by);
    }
  } text;
  return std::visit(text, o);
}

inline std::ostream& operator<<(std::ostream& out, const operation& o) {
  return out << text_of(o);
}

/// Some have a character that texts are not packed with.
inline std::string any_name(char prefix, int count) {
  const auto number = *rc::gen::inRange(0, count);
  return fmt::format("{}{}{}", prefix, number % 3 == 1 ? "_" : "", number);
}

inline time_point any_time() {
  return time_point{} + std::chrono::seconds(*rc::gen::inRange(0, 4));
}

inline string_map any_labels() {
  string_map labels;
  for (const auto* key : {"app", "tier"})
    if (const auto value = *rc::gen::inRange(0, 3); value > 0)
      labels[key] = std::to_string(value);
  return labels;
}

inline resources any_amounts(std::int64_t below) {
  resources amounts;
  for (const auto* name : {"cpu", "gpu"})
    amounts[name] = *rc::gen::inRange<std::int64_t>(0, below);
  for (const auto* name : {"fpga", "pods"})
    if (*rc::gen::inRange(0, 8) == 0)
      amounts[name] = *rc::gen::inRange<std::int64_t>(0, below);
  return amounts;
}

inline pod_phase any_phase() {
  return static_cast<pod_phase>(*rc::gen::weightedElement<int>(
    {{1, 0}, {2, 1}, {3, 2}, {8, 3}, {1, 4}, {2, 5}, {1, 6}, {1, 7}}));
}

/// Few of everything, so that names meet again.
inline rc::Gen<operation> any_pod() {
  return rc::gen::exec([] {
    pod made;
    made.uid = any_name('u', 12);
    made.workload = any_name('w', 3);
    made.group = any_name('g', 2);
    made.replica = *rc::gen::inRange(0, 2);
    made.index = *rc::gen::inRange(0, 3);
    made.node = any_name('n', 4);
    made.phase = any_phase();
    made.requests = any_amounts(3);
    made.labels = any_labels();
    made.disruption = *rc::gen::element(disruption_mode::pod, disruption_mode::pod_group);
    made.priority = *rc::gen::inRange(-1, 2);
    made.daemon = *rc::gen::arbitrary<bool>();
    made.opted_out = *rc::gen::arbitrary<bool>();
    made.protected_member = *rc::gen::inRange(0, 5) == 0;
    made.owner = *rc::gen::element<std::string>("", "", "u1", "u2");
    made.created = any_time();
    made.started = any_time();
    made.checkpointed = any_time();
    made.evicted_by = *rc::gen::element<std::string>("", "", "", "d1");
    return operation(made);
  });
}

inline rc::Gen<operation> any_node() {
  return rc::gen::exec([] {
    node made;
    made.name = any_name('n', 4);
    made.capacity = any_amounts(20);
    made.ready = *rc::gen::arbitrary<bool>();
    return operation(made);
  });
}

inline rc::Gen<operation> any_budget() {
  return rc::gen::exec([] {
    disruption_budget made;
    made.name = any_name('b', 3);
    made.match_labels = any_labels();
    if (*rc::gen::arbitrary<bool>())
      made.min_available = *rc::gen::inRange(0, 3);
    else
      made.max_unavailable = *rc::gen::inRange(0, 3);
    return operation(made);
  });
}

inline rc::Gen<operation> any_expectation() {
  return rc::gen::exec([] {
    return operation(expectation{any_labels(), *rc::gen::inRange<std::int64_t>(-2, 4)});
  });
}

inline rc::Gen<operation> any_progress() {
  return rc::gen::exec([] {
    return operation(progress{any_name('u', 12), any_phase(), any_time(),
                              *rc::gen::element<std::string>("", "", "d1")});
  });
}

inline rc::Gen<operation> any_removal() {
  return rc::gen::exec([] {
    const auto what = *rc::gen::weightedElement<removal::kind>(
      {{1, removal::kind::node}, {6, removal::kind::pod}, {1, removal::kind::budget}});
    switch (what) {
    case removal::kind::node:
      return operation(removal{what, any_name('n', 4)});
    case removal::kind::pod:
      return operation(removal{what, any_name('u', 12)});
    default:
      return operation(removal{what, any_name('b', 3)});
    }
  });
}

inline rc::Gen<std::vector<operation>> any_history() {
  return rc::gen::scale(
    3.0, rc::gen::container<std::vector<operation>>(rc::gen::weightedOneOf<operation>({
           {12, any_pod()},
           {4, any_node()},
           {1, any_budget()},
           {2, any_expectation()},
           {6, any_progress()},
           {4, any_removal()},
           {3, rc::gen::just(operation(settling{}))},
         })));
}

// -- the cluster as plain objects ----------------------------------------------------------------

struct plain_cluster {
  std::map<std::string, node> nodes;
  std::map<std::string, pod> pods;
  std::map<std::string, disruption_budget> budgets;
  std::map<string_map, std::int64_t> waiting;

  void operator()(const pod& p) {
    pods.erase(p.uid);
    if (takes_room(p.phase) && nodes.contains(p.node))
      pods.emplace(p.uid, p);
  }
  void operator()(const node& n) {
    nodes[n.name] = n;
  }
  void operator()(const disruption_budget& b) {
    budgets[b.name] = b;
  }
  void operator()(const removal& r) {
    if (r.what == removal::kind::pod)
      pods.erase(r.name);
    if (r.what == removal::kind::budget)
      budgets.erase(r.name);
    if (r.what == removal::kind::node) {
      nodes.erase(r.name);
      std::erase_if(pods, [&](const auto& p) { return p.second.node == r.name; });
    }
  }
  void operator()(const settling&) {}
  void operator()(const expectation& e) {
    auto& pods = waiting[e.labels];
    pods = std::max<std::int64_t>(pods + e.pods, 0);
  }
  void operator()(const progress& p) {
    if (const auto known = pods.find(p.uid); known != pods.end())
      (*this)(p.of(known->second));
  }
};

struct changes_of {
  cluster_view& view;
  const plain_cluster& before;

  void operator()(const pod& p) const {
    view.put_pod(p);
  }
  void operator()(const node& n) const {
    view.put_node(n);
  }
  void operator()(const disruption_budget& b) const {
    view.put_budget(b);
  }
  void operator()(const removal& r) const {
    if (r.what == removal::kind::pod)
      view.remove_pod(r.name);
    if (r.what == removal::kind::budget)
      view.remove_budget(r.name);
    if (r.what == removal::kind::node)
      view.remove_node(r.name);
  }
  void operator()(const settling&) const {
    view.settle();
  }
  void operator()(const expectation& e) const {
    view.expect(e.labels, e.pods);
  }
  void operator()(const progress& p) const {
    if (const auto known = before.pods.find(p.uid); known != before.pods.end())
      view.put_pod(p.of(known->second), &known->second);
  }
};

} // namespace reprieve
