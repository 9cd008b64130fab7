#include "tests/engine/worlds/counted_world.hpp"

#include "preemption/policies/queues/group_shares.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace reprieve::tests {

counted_world::counted_world() {
  given.cluster.name = "default";
  given.cluster.policy = group_policy::lifecycle;
  given.now = at(3600);
}

counted_world& counted_world::node(std::string name, std::int64_t gpus) {
  auto& made_node = nodes.emplace_back();
  made_node.name = std::move(name);
  gpu(gpus)(made_node);
  return *this;
}

counted_world& counted_world::wants(std::string name, std::int32_t priority, std::int32_t replicas,
                                    std::int64_t gpus) {
  auto& one = given.deployments.emplace_back();
  one.who.name = std::move(name);
  one.who.priority = priority;
  one.who.submitted = given.now;
  one.queue = "default";
  one.wanted = replicas;
  pod template_pod;
  gpu(gpus)(template_pod);
  one.who.pods.requests = template_pod.requests;
  return *this;
}

counted_world& counted_world::queue(std::string name, std::string parent, std::int64_t limit) {
  if (!given.queues)
    given.queues.emplace();
  auto& made_queue = given.queues->queues[name];
  made_queue.name = std::move(name);
  made_queue.parent = std::move(parent);
  made_queue.weight = 1;
  made_queue.cap_by_demand = true;
  if (limit > 0)
    made_queue.limit = {{"gpu", limit * 1000}};
  return *this;
}

lifecycle_outcome counted_world::plan() const {
  auto input = given;
  for (const auto& p : pods)
    input.pods.push_back(lifecycle_pod_of(p));
  const auto view = view_of(nodes, pods, {});
  if (input.queues) {
    input.queues->capacity = capacity_to_share(view);
    for (const auto& p : pods) {
      const auto owner =
        std::ranges::find(given.deployments, p.workload, [](const auto& d) { return d.who.name; });
      auto& totals = input.queues->totals[owner->queue];
      add_taken(is_leaving(p.phase) ? totals.leaving : totals.staying, p);
    }
  }
  return run_lifecycle_cycle(view, input);
}

void counted_world::write(const lifecycle_outcome& outcome) {
  for (const auto& step : outcome.steps) {
    for (const auto& change : step.counts) {
      auto found = std::ranges::find(given.placements, change.placement, &placement::name);
      if (found == given.placements.end()) {
        given.placements.push_back({});
        found = std::prev(given.placements.end());
        found->name = change.placement;
        found->deployment = change.deployment;
        found->cluster = change.cluster;
      }
      found->committed = change.to;
      found->preempted = change.preempted;
      found->nominations = change.nominations;
    }
    for (const auto& forced : step.force_deletes)
      std::ranges::find(pods, forced.uid, &pod::uid)->phase = pod_phase::force_deleting;
  }
  for (const auto& one : outcome.remembered)
    *std::ranges::find(given.placements, one.name, &placement::name) = one;
}

void counted_world::obey() {
  for (const auto& share : given.placements) {
    const auto& who = deployment(share.deployment).who;
    while (running(share.deployment) > static_cast<std::size_t>(share.committed)) {
      pod* newest = nullptr;
      for (auto& p : pods)
        if (p.workload == share.deployment && !is_leaving(p.phase)
            && (newest == nullptr || p.index > newest->index))
          newest = &p;
      newest->phase = pod_phase::terminating;
      newest->stop_told = given.now;
      newest->grace_period = std::chrono::seconds{10};
    }
    for (auto lacking = share.committed - static_cast<std::int32_t>(running(share.deployment));
         lacking > 0; --lacking) {
      const auto view = view_of(nodes, pods, {});
      const auto asked = view.columns(who.pods.requests);
      const auto on = std::ranges::find_if(nodes, [&](const auto& n) {
        const auto free = view.free(view.find_node(n.name));
        return asked && std::equal(free.begin(), free.end(), asked->begin(), std::greater_equal{});
      });
      if (on == nodes.end())
        break;
      auto& p = pods.emplace_back();
      p.index = made++;
      p.uid = p.name = fmt::format("{}-{}", share.deployment, p.index);
      p.workload = share.deployment;
      p.group = "pods";
      p.node = on->name;
      p.phase = pod_phase::running;
      p.requests = who.pods.requests;
      p.priority = who.priority;
      p.created = p.started = given.now;
    }
  }
}

void counted_world::let_go() {
  std::erase_if(pods, [](const pod& p) { return is_leaving(p.phase); });
}

bool counted_world::settle(int most) {
  for (int i = 0; i < most; ++i) {
    const auto outcome = plan();
    const auto before = pods;
    write(outcome);
    obey();
    if (outcome.steps.empty() && outcome.remembered.empty() && before == pods)
      return true;
  }
  return false;
}

counted_deployment& counted_world::deployment(std::string_view name) {
  return *std::ranges::find(given.deployments, name,
                            [](const auto& one) { return std::string_view(one.who.name); });
}

const placement* counted_world::share(std::string_view deployment) const {
  const auto found = std::ranges::find(given.placements, deployment, &placement::deployment);
  return found == given.placements.end() ? nullptr : &*found;
}

std::int32_t counted_world::committed(std::string_view deployment) const {
  const auto* known = share(deployment);
  return known == nullptr ? 0 : known->committed;
}

std::size_t counted_world::running(std::string_view deployment) const {
  return static_cast<std::size_t>(std::ranges::count_if(
    pods, [&](const pod& p) { return p.workload == deployment && !is_leaving(p.phase); }));
}

} // namespace reprieve::tests
