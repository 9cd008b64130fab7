#include "preemption/problem/preemptor.hpp"
#include "tests/actors/properties/cluster_records.hpp"
#include "tests/simulation/dice.hpp"
#include "tests/support/plain_room.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <span>
#include <string>
#include <utility>

namespace reprieve::tests {

namespace {

using std::chrono::seconds;

class drawing {
public:
  drawing(std::uint64_t seed, const record_traits& with) : luck_(seed), with_(with) {}

  cluster_records draw() {
    draw_settings();
    // A shard names at most so many nodes that there is a rest only in the large clusters.
    const bool large = luck_.one_in(25);
    draw_nodes(large ? luck_.between(36, 70) : luck_.between(1, 12));
    const auto running = std::ssize(made_.nodes) * luck_.between(2, large ? 4 : 7);
    for (std::int64_t i = 0; i < running; ++i)
      add_running();
    for (auto waiting = with_.one_waits ? 1 : luck_.between(1, 5); waiting > 0; --waiting)
      add_waiting();
    draw_budgets();
    return std::move(made_);
  }

private:
  void draw_settings() {
    auto& group = made_.settings;
    group.name = "default";
    group.minimised = luck_.one_in(2) ? minimise::pods : minimise::work;
    auto& limits = group.limits;
    limits.opt_out_is_veto = luck_.one_in(2);
    if (luck_.one_in(4))
      limits.minimum_runtime = seconds{luck_.between(0, 3600)};
    if (luck_.one_in(8))
      limits.victims_per_decision = static_cast<std::int32_t>(luck_.between(1, 4));
    if (luck_.one_in(8))
      limits.search_budget = luck_.between(1, 40);
    if (luck_.one_in(6))
      limits.preemptions_per_workload_per_hour = 1;
  }

  /// Names decide on shards, so that they are different in every cluster.
  std::string name(std::string_view kind) {
    return fmt::format("{}{}-{:04x}", kind, ++named_, luck_.below(0x10000));
  }

  void draw_nodes(std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
      node n;
      n.name = name("n");
      n.capacity = {{"cpu", 1000 * luck_.between(4, 16)}, {"gpu", 1000 * luck_.between(2, 8)}};
      if (luck_.one_in(6))
        n.capacity.erase("gpu");
      if (luck_.one_in(2))
        n.capacity["pods"] = luck_.between(1, 6);
      n.labels["zone"] = luck_.one_in(2) ? "a" : "b";
      if (!luck_.one_in(8))
        n.labels["rack"] = fmt::format("r{}", luck_.between(1, 3));
      n.schedulable = !luck_.one_in(with_.one_waits ? 5 : 12);
      n.ready = !luck_.one_in(30);
      if (luck_.one_in(12))
        n.taints.push_back({"kept", "", taint_effect::no_schedule});
      room_.push_back(room_of(n));
      made_.nodes.emplace_back().spec = std::move(n);
    }
  }

  void draw_budgets() {
    for (const std::string app : {"x", "y"}) {
      if (luck_.one_in(4))
        continue;
      disruption_budget budget;
      budget.name = name("budget");
      budget.match_labels = {{"app", app}};
      (with_.steady || luck_.one_in(2) ? budget.min_available : budget.max_unavailable) =
        static_cast<std::int32_t>(luck_.between(0, 8));
      made_.budgets.push_back(std::move(budget));
    }
  }

  // -- what runs ----------------------------------------------------------------------------------

  resolved_priority some_priority(std::int64_t lowest, std::int64_t highest) {
    resolved_priority found;
    found.priority = static_cast<std::int32_t>(luck_.between(lowest, highest));
    found.preemption_priority =
      found.priority
      + static_cast<std::int32_t>(luck_.one_in(3) ? luck_.between(0, with_.one_waits ? 8 : 3) : 0);
    return found;
  }

  void resolve(workload_record& record, std::int64_t lowest, std::int64_t highest) {
    auto& status = record.status;
    status.uid = fmt::format("u{}", named_);
    status.generation = 1;
    status.submitted = around_now - seconds{luck_.between(0, 4)};
    status.resolved = some_priority(lowest, highest);
    status.resolved.may_preempt = !luck_.one_in(15);
    for ([[maybe_unused]] const auto& group : record.spec->groups)
      status.by_group.push_back(luck_.one_in(10) ? some_priority(lowest, highest)
                                                 : status.resolved);
  }

  pod_template pods_of(std::int64_t most_gpus, std::int64_t most_cpus) {
    pod_template pods;
    pods.requests = {{"gpu", 1000 * luck_.between(0, most_gpus)},
                     {"cpu", 1000 * luck_.between(0, most_cpus)}};
    if (!luck_.one_in(3))
      pods.labels["app"] = luck_.one_in(2) ? "x" : "y";
    return pods;
  }

  pod_group running_group(std::string named) {
    pod_group group;
    group.name = std::move(named);
    group.pods = pods_of(4, 6);
    if (luck_.one_in(8))
      group.pods.labels["reprieve/allow-preemption"] = "false";
    group.count = static_cast<std::int32_t>(luck_.one_in(3) ? 1 : luck_.between(1, 4));
    group.replicas = luck_.one_in(5) ? 2 : 1;
    if (luck_.one_in(2)) {
      group.min_count = static_cast<std::int32_t>(luck_.between(1, group.count));
      group.disruption = luck_.one_in(4) ? disruption_mode::pod : disruption_mode::pod_group;
    }
    if (luck_.one_in(12))
      group.protected_members = {0};
    return group;
  }

  void add_running() {
    workload_record record;
    auto& spec = record.spec.edit();
    spec.name = name("w");
    spec.groups.push_back(running_group("a"));
    if (luck_.one_in(5))
      spec.groups.push_back(running_group("b"));
    if (luck_.one_in(12))
      spec.kind = workload_kind::daemon;
    vary_costs(spec);
    resolve(record, -1, 6);
    if (luck_.one_in(8))
      record.status.preempted.push_back({"earlier", around_now - std::chrono::minutes{10}});
    // Its pods were placed when it had said something else of what they cost.
    auto before = record;
    if (luck_.one_in(3)) {
      vary_costs(before.spec.edit());
      for (auto& one : before.status.by_group)
        one.preemption_priority = static_cast<std::int32_t>(luck_.between(one.priority, 9));
    }
    for (std::size_t g = 0; g < spec.groups.size(); ++g)
      for (std::int32_t r = 0; r < spec.groups[g].replicas; ++r)
        place_replica(record, before, g, r);
    made_.workloads.push_back(std::move(record));
  }

  void vary_costs(workload& spec) {
    spec.checkpoint.last = luck_.one_in(3) ? around_now - seconds{luck_.between(0, 3600)} : no_time;
    spec.minimum_runtime = luck_.one_in(4) ? seconds{luck_.between(0, 4000)} : seconds{0};
  }

  /// What finds no place has run to its end, or waits for one.
  void place_replica(workload_record& record, const workload_record& before, std::size_t group,
                     std::int32_t replica) {
    const auto& of = record.spec->groups[group];
    const bool waits_for_more = luck_.one_in(20) && !with_.steady && !with_.one_waits;
    const bool leaves = luck_.one_in(20);
    const bool does_not_go = luck_.one_in(8);
    for (std::int32_t i = 0; i < of.count; ++i) {
      auto p = pod_at(before.spec, before.status, group, replica, i, 0);
      const pod_slot slot{of.name, replica, i};
      auto* on = find_place(p.requests);
      if (on == nullptr) {
        if (!waits_for_more)
          record.slots.push_back({slot, 0, slot_state::succeeded, {}});
        continue;
      }
      p.node = on->spec->name;
      p.phase = luck_.one_in(15) ? pod_phase::bound : pod_phase::running;
      p.created = around_now - seconds{luck_.between(3000, 4000)};
      if (p.phase == pod_phase::running)
        p.started = around_now - seconds{luck_.between(0, 3000)};
      if (leaves) {
        p.evicted_by = not_wanted;
        p.checkpoint_time = seconds{10}; // or its machine would say at once that it has gone
        p.phase = does_not_go ? pod_phase::force_deleting : pod_phase::terminating;
        p.stop_told = around_now - (does_not_go ? seconds{3000} : seconds{2});
        record.slots.push_back({slot, 0, slot_state::stopped, {}});
      }
      put_pod(*on, std::move(p));
    }
  }

  /// Some node with room, or null.
  node_record* find_place(const resources& requests) {
    constexpr int tries = 4;
    for (int i = 0; i < tries; ++i)
      if (const auto n = luck_.below(made_.nodes.size()); take(room_[n], requests))
        return &made_.nodes[n];
    return nullptr;
  }

  // -- what waits ---------------------------------------------------------------------------------

  pod_group waiting_group(std::string named, std::int32_t most) {
    pod_group group;
    group.name = std::move(named);
    group.pods = pods_of(luck_.one_in(3) ? 8 : 4, 8);
    group.count = static_cast<std::int32_t>(luck_.between(1, most));
    if (with_.steady)
      group.pods.labels.clear();
    if (luck_.one_in(8))
      group.pods.node_selector = {{"zone", "a"}};
    if (luck_.one_in(8))
      group.pods.tolerations.push_back({"kept", true, "", std::nullopt});
    return group;
  }

  void make_gang(workload& spec) {
    const std::vector<std::string> keys[] = {{}, {"zone"}, {"zone"}, {"zone", "rack"}, {"rack"}};
    const auto& within = keys[luck_.below(std::size(keys))];
    const bool only_the_first = luck_.one_in(4);
    const auto replicas = luck_.one_in(6) && !with_.one_waits ? 2 : 1;
    for (auto& group : spec.groups) {
      group.min_count =
        luck_.one_in(4) ? static_cast<std::int32_t>(luck_.between(1, group.count)) : group.count;
      group.replicas = replicas;
      if (luck_.one_in(2))
        group.disruption = disruption_mode::pod_group;
      if (!only_the_first || &group == spec.groups.data())
        group.topology_keys = within;
    }
  }

  void add_waiting() {
    workload_record record;
    if (!waiting_.empty() && luck_.one_in(3)) {
      record = made_.workloads[waiting_[luck_.below(waiting_.size())]]; // one more of its kind
      record.spec.edit().name = name("new");
      record.status.uid = fmt::format("u{}", named_);
    } else {
      auto& spec = record.spec.edit();
      spec.name = name("new");
      const bool gang = luck_.one_in(2);
      const auto most = luck_.one_in(2) || (with_.one_waits && !gang) ? 1 : 4;
      spec.groups.push_back(waiting_group("a", most));
      if (gang) {
        if (luck_.one_in(3))
          spec.groups.push_back(waiting_group("b", 3));
        if (luck_.one_in(6))
          spec.groups.push_back(waiting_group("c", 2));
        make_gang(spec);
      }
      resolve(record, 3, 9);
    }
    waiting_.push_back(made_.workloads.size());
    made_.workloads.push_back(std::move(record));
  }

  simulation::dice luck_;
  record_traits with_;
  cluster_records made_;
  std::vector<resources> room_; ///< by position of the node
  std::vector<std::size_t> waiting_;
  int named_ = 0;
};

/// By how much the workload's preemption priority may come down.
std::int32_t most_lowered_by(const workload_record& record) {
  std::int32_t most = 0;
  for (const auto& one : record.status.by_group)
    most = std::max(most, one.preemption_priority - one.priority);
  return most;
}

} // namespace

cluster_records draw_records(std::uint64_t seed, const record_traits& with) {
  return drawing{seed, with}.draw();
}

admitted draw_change(std::uint64_t seed, const cluster_records& of) {
  simulation::dice luck{seed};
  const auto any_of = [&](const auto& some) -> const auto& {
    return some[luck.below(some.size())];
  };
  if (luck.one_in(4) && !of.budgets.empty()) {
    auto budget = any_of(of.budgets);
    (budget.min_available ? budget.min_available : budget.max_unavailable) =
      static_cast<std::int32_t>(luck.between(0, 8));
    return {std::move(budget), std::nullopt};
  }
  // Those who wait come last, and their decision would be refused.
  const auto running = std::span{of.workloads}.first(of.workloads.size() - 1);
  if (running.empty() || luck.one_in(2)) {
    // One that opens may be the best by then, though no shard has named it.
    const auto closed =
      std::ranges::find_if(of.nodes, [](const node_record& one) { return !one.spec->schedulable; });
    node n = closed != of.nodes.end() ? closed->spec : any_of(of.nodes).spec;
    if (!n.schedulable || luck.one_in(3))
      n.schedulable = !n.schedulable;
    else if (luck.one_in(2))
      n.capacity["gpu"] += 1000 * luck.between(1, 4);
    else
      n.labels["rack"] = fmt::format("r{}", luck.between(1, 3));
    return {std::move(n), std::nullopt};
  }
  auto record =
    luck.one_in(2) ? any_of(running) : *std::ranges::max_element(running, {}, most_lowered_by);
  const bool cheap = luck.one_in(2);
  for (auto& one : record.status.by_group)
    one.preemption_priority =
      cheap ? one.priority : static_cast<std::int32_t>(luck.between(one.priority, 9));
  if (luck.one_in(2))
    record.spec.edit().checkpoint.last = around_now - seconds{luck.between(0, 100)};
  if (cheap || luck.one_in(2))
    record.spec.edit().minimum_runtime = seconds{cheap ? 0 : luck.between(0, 4000)};
  return {*record.spec, resolved_priorities{record.status.resolved, record.status.by_group}};
}

} // namespace reprieve::tests
