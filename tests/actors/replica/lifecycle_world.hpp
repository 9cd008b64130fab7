#pragma once

#include "tests/actors/replica/replica_test.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <optional>

/// A resource group whose cluster has a scheduler of its own, seen end to end
/// (docs/policies.md#lifecycle).
namespace reprieve {

inline resource_group counting(group_policy policy = group_policy::lifecycle) {
  resource_group group;
  group.name = "edge";
  group.policy = policy;
  return group;
}

inline node edge_node(std::string name, std::int64_t gpus) {
  auto n = machine(std::move(name), gpus);
  n.resource_group = "edge";
  return n;
}

inline workload deployed(std::string name, std::int32_t priority, std::int32_t replicas,
                         std::int64_t gpus = 1) {
  auto w = work(std::move(name), priority, 1);
  w.kind = workload_kind::deployment;
  w.resource_group = "edge";
  w.grace_period = std::chrono::seconds{10};
  w.groups[0].replicas = replicas;
  w.groups[0].pods.requests = {{"gpu", gpus * 1000}};
  return w;
}

class lifecycle_replica : public replica_test {
protected:
  void start(duration later = duration{0}) {
    replica_.emplace(store_, journal(), later);
    ASSERT_TRUE(replica_->start().ok());
  }

  void apply(const std::vector<object>& objects) {
    const auto applied = replica_->apply(objects);
    ASSERT_TRUE(applied.ok()) << applied.status();
  }

  std::optional<placement> share(const std::string& deployment) {
    for (const auto& one : replica_->get(object_kind::placement))
      if (const auto& found = std::get<placement>(one.what); found.deployment == deployment)
        return found;
    return std::nullopt;
  }

  std::int32_t committed(const std::string& deployment) {
    const auto found = share(deployment);
    return found ? found->committed : -1;
  }

  bool comes_to(const std::string& deployment, std::size_t running,
                duration within = std::chrono::seconds{5}) {
    return replica_->world().advance_until(
      [&] { return replica_->pods(deployment, pod_phase::running) == running; }, within);
  }

  bool commits(const std::string& deployment, std::int32_t count,
               duration within = std::chrono::seconds{5}) {
    return replica_->world().advance_until([&] { return committed(deployment) == count; }, within);
  }

  std::vector<pod> pods_of(const std::string& deployment) {
    std::vector<pod> found;
    for (const auto& one : replica_->get(object_kind::pod))
      if (const auto& p = std::get<pod>(one.what); p.workload == deployment)
        found.push_back(p);
    return found;
  }

  /// Two nodes of one GPU, both with a replica of `crawl`.
  void begin_with_crawl(const std::string& stop_takes = "2s") {
    start();
    apply({counting(), edge_node("n1", 1), edge_node("n2", 1),
           played(deployed("crawl", 1, 2), "stop-takes", stop_takes)});
    ASSERT_TRUE(comes_to("crawl", 2));
  }

  bool apply_quietly(const std::vector<object>& objects) {
    return replica_->apply(objects).ok();
  }

  /// How many decisions took replicas of it.
  int preemptions_of(const std::string& deployment) {
    const auto why = replica_->explain_workload(deployment);
    if (!why.ok())
      return -1;
    return static_cast<int>(std::ranges::count_if(why->decisions, [&](const decision& one) {
      return one.phase == decision_phase::done
             && std::ranges::any_of(one.counts, [&](const count_change& change) {
                  return change.deployment == deployment && change.to < change.from;
                });
    }));
  }

  std::optional<replica_world> replica_;
};

} // namespace reprieve
