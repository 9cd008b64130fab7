#include "tests/engine/worlds/random_cluster.hpp"

#include "tests/support/plain_room.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>

namespace reprieve::tests {

namespace {

std::int64_t between(std::int64_t low, std::int64_t high) {
  // At nominal size from the start: small clusters show little.
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::int64_t>(low, high + 1));
}

bool one_in(std::int64_t n) {
  return between(1, n) == 1;
}

prio some_priority() {
  return prio{static_cast<std::int32_t>(between(-1, 6))};
}

prio high_priority() {
  return prio{static_cast<std::int32_t>(between(3, 8))};
}

/// Half of all nodes limit the number of pods.
void limit_pods(node& n) {
  if (one_in(2))
    n.capacity["pods"] = between(1, 6);
}

void vary(node& n) {
  n.labels["rack"] = fmt::format("r{}", between(1, 3));
  if (one_in(8))
    n.labels.erase("rack");
  if (one_in(6))
    n.capacity.erase(std::string{resource::gpu});
  n.schedulable = !one_in(12);
  if (one_in(12))
    describe(n, tainted{"kept"});
}

void vary(pod& p) {
  if (one_in(4))
    p.priority = static_cast<std::int32_t>(between(-1, 6));
  p.started = one_in(8) ? no_time : at(between(0, 3000));
  if (one_in(3))
    p.checkpointed = at(between(0, 3600));
  if (one_in(4))
    p.minimum_runtime = std::chrono::seconds{between(0, 3000)};
  p.opted_out = one_in(8);
  if (one_in(12)) {
    p.phase = pod_phase::nominated;
    p.placed_by = "earlier";
  }
}

} // namespace

cluster draw_cluster(const cluster_traits& with) {
  cluster drawn;
  std::vector<std::string> names;
  std::map<std::string, resources> room;
  const auto nodes = between(1, with.most_nodes);
  for (std::int64_t i = 0; i < nodes; ++i) {
    names.push_back(fmt::format("n{}", i));
    const auto gpus = gpu(between(2, 8));
    const auto cpus = cpu(between(4, 16));
    const auto zone = label{"zone", std::string{one_in(2) ? "a" : "b"}};
    drawn.node(names.back(), gpus, cpus, zone, limit_pods, [&](node& n) {
      if (with.varied)
        vary(n);
    });
    room[names.back()] = room_of(drawn.all_nodes().back());
  }
  const auto workloads = between((with.crowded ? 8 : 2) * nodes, (with.crowded ? 12 : 8) * nodes);
  for (std::int64_t i = 0; i < workloads && std::ssize(drawn.all_pods()) < with.most_pods; ++i) {
    const auto name = fmt::format("w{}", i);
    const auto gpus = gpu(between(0, 4));
    const auto cpus = cpu(between(0, 6));
    const bool whole = with.groups && (with.crowded ? !one_in(3) : one_in(3));
    std::vector<std::string> on;
    const auto left = with.most_pods - std::ssize(drawn.all_pods());
    for (auto pods = whole ? std::min(between(1, 4), left) : 1; pods > 0; --pods) {
      const auto& node = names[static_cast<std::size_t>(between(0, nodes - 1))];
      if (take(room[node], {{gpus.resource, gpus.value}, {cpus.resource, cpus.value}}))
        on.push_back(node);
    }
    const auto label_of_budget = label{"app", std::string{one_in(2) ? "x" : "y"}};
    // Decisions take whole replicas; a pod that ends by itself leaves the others behind.
    const bool chosen = with.leaving && one_in(10);
    const auto describe_pod = [&](pod& p) {
      if (with.immovable) {
        p.daemon = one_in(12);
        p.protected_member = one_in(12);
      }
      if (with.varied)
        vary(p);
      if (chosen)
        p.evicted_by = "earlier";
      else if (with.leaving && one_in(10))
        p.phase = pod_phase::terminating;
    };
    const auto when = started{between(0, 3)};
    if (whole)
      drawn.group(name, on, some_priority(), gpus, cpus, when, label_of_budget, describe_pod);
    else
      drawn.pods(name, on, some_priority(), gpus, cpus, when, label_of_budget, describe_pod);
  }
  if (with.budgets) {
    drawn.budget("x", {"app", "x"}, static_cast<std::int32_t>(between(0, 8)));
    drawn.budget("y", {"app", "y"}, static_cast<std::int32_t>(between(0, 8)));
  }
  return drawn;
}

preemptor draw_lone_pod() {
  const auto priority = high_priority();
  const auto gpus = gpu(between(0, 8));
  const auto cpus = cpu(between(1, 8));
  return lone("new", priority, gpus, cpus);
}

preemptor draw_gang_of_one_template() {
  const auto count = static_cast<std::int32_t>(between(1, 6));
  const auto priority = high_priority();
  const auto gpus = gpu(between(0, 4));
  const auto cpus = cpu(between(1, 6));
  return gang("new", priority, members(count, gpus, cpus));
}

preemptor draw_gang_of_several_templates() {
  const auto some = [](std::int64_t most_gpus, std::int64_t least_cpus, std::int64_t most_cpus,
                       const auto&... more) {
    const auto count = static_cast<std::int32_t>(between(1, 3));
    const auto gpus = gpu(between(0, most_gpus));
    const auto cpus = cpu(between(least_cpus, most_cpus));
    return members(count, gpus, cpus, more...);
  };
  const auto priority = high_priority();
  const auto first = some(8, 0, 3);
  const auto second = some(2, 1, 8);
  const auto third = some(3, 1, 3, at_least{1});
  return gang("new", priority, first, second, third);
}

preemptor draw_gang_within_racks() {
  auto who = one_in(2) ? draw_gang_of_one_template() : draw_gang_of_several_templates();
  describe(who, within{{"zone", "rack"}});
  if (one_in(3))
    who.groups.front().topology_keys = {"zone"};
  if (one_in(4))
    who.groups.back().node_selector = {{"zone", "a"}};
  return who;
}

plan_settings draw_settings(depth deepest) {
  plan_settings settings;
  settings.group.name = "default";
  settings.now = at(3600);
  settings.group.minimised = one_in(2) ? minimise::pods : minimise::work;
  settings.placing = one_in(4) ? placing_rule::plain : placing_rule::cheapest;
  settings.explained = static_cast<depth>(between(0, static_cast<std::int64_t>(deepest)));
  auto& limits = settings.group.limits;
  limits.opt_out_is_veto = one_in(2);
  if (one_in(4))
    limits.minimum_runtime = std::chrono::seconds{between(0, 3600)};
  if (one_in(6))
    limits.victims_per_decision = static_cast<std::int32_t>(between(1, 4));
  if (one_in(6))
    limits.search_budget = between(1, 40);
  if (one_in(6)) {
    limits.preemptions_per_workload_per_hour = 1;
    settings.recent_preemptions = {{"w1", 1}, {"w3", 1}};
  }
  return settings;
}

void for_random_cases(const cluster_traits& with, const std::function<preemptor()>& draw,
                      const std::function<void(const cluster&, const preemptor&)>& check) {
  constexpr int preemptors_for_each_cluster = 10;
  EXPECT_TRUE(rc::check([&] {
    const auto in = draw_cluster(with);
    for (int i = 0; i < preemptors_for_each_cluster; ++i)
      check(in, draw());
  }));
}

random_case case_of_seed(std::uint64_t seed, const cluster_traits& with,
                         const std::function<preemptor()>& draw) {
  const auto both = rc::gen::exec([&] { return random_case{draw_cluster(with), draw()}; });
  return both(rc::Random{seed}, rc::kNominalSize).value();
}

preemptor draw_anyone() {
  auto who = [] {
    switch (between(0, 2)) {
    case 0:
      return draw_lone_pod();
    case 1:
      return draw_gang_of_one_template();
    default:
      return draw_gang_of_several_templates();
    }
  }();
  if (who.gang && one_in(3))
    describe(who, within{{"zone"}});
  return who;
}

} // namespace reprieve::tests
