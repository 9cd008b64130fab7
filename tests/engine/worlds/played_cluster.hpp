#pragma once

#include "preemption/snapshot/snapshot_cycle.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace reprieve::tests {

/// A cluster that is played on: what a cycle decides happens at once, and the next cycle begins
/// from there. Preempted workloads wait again.
class played_cluster {
public:
  played_cluster& node(const std::string& name, resources capacity) {
    reprieve::node n;
    n.name = name;
    n.capacity = std::move(capacity);
    n.resource_group = "default";
    nodes_[name] = std::move(n);
    return *this;
  }
  played_cluster& queue(reprieve::queue q) {
    queues_[q.name] = std::move(q);
    return *this;
  }
  played_cluster& submit(workload w) {
    workload_status status;
    status.submitted = time_point{std::chrono::seconds{++clock_}};
    statuses_[w.name] = status;
    workloads_[w.name] = std::move(w);
    return *this;
  }
  played_cluster& remove(const std::string& name) {
    workloads_.erase(name);
    std::erase_if(pods_, [&](const pod& p) { return p.workload == name; });
    return *this;
  }
  guards& limits() {
    return limits_;
  }
  played_cluster& most_victims(std::int32_t of_a_decision) {
    limits_.victims_per_decision = of_a_decision;
    return *this;
  }
  reprieve::node& node_named(const std::string& name) {
    return nodes_.at(name);
  }
  reprieve::queue& queue_named(const std::string& name) {
    return queues_.at(name);
  }

  /// Runs cycles until one decides nothing; how many pods were stopped meanwhile.
  std::size_t settle(std::size_t most_cycles = 50) {
    std::size_t stopped = 0;
    for (std::size_t i = 0; i < most_cycles; ++i) {
      const auto before = evictions_.size();
      if (!step())
        return stopped;
      stopped += evictions_.size() - before;
    }
    ADD_FAILURE() << "it does not come to rest";
    return stopped;
  }

  std::vector<std::string> running() const {
    std::set<std::string> names;
    for (const auto& p : pods_)
      names.insert(p.workload);
    return {names.begin(), names.end()};
  }
  std::size_t pods_of(const std::string& workload) const {
    return static_cast<std::size_t>(std::ranges::count(pods_, workload, &pod::workload));
  }
  /// Names of workloads, once for every pod that was stopped.
  const std::vector<std::string>& evictions() const {
    return evictions_;
  }
  std::string why(const std::string& workload) const {
    const auto found = why_.find(workload);
    return found == why_.end() ? "" : found->second;
  }
  const queue_stage_result& queues() const {
    return last_queues_;
  }

private:
  snapshot taken() const {
    std::vector<snapshot::entry> entries;
    for (const auto& [name, one] : nodes_)
      entries.push_back({one, {}, {}});
    for (const auto& [name, one] : queues_)
      entries.push_back({one, {}, {}});
    for (const auto& [name, one] : workloads_)
      entries.push_back({one, statuses_.at(name), {}});
    for (const auto& p : pods_)
      entries.push_back({p, {}, {}});
    auto made = snapshot::of(std::move(entries));
    EXPECT_TRUE(made.ok()) << made.status();
    return *std::move(made);
  }

  bool step() {
    const auto state = taken();
    plan_settings settings;
    settings.group.name = "default";
    settings.group.limits = limits_;
    settings.now = time_point{std::chrono::seconds{clock_ += 10}};
    snapshot_cycle cycle{state};
    cycle.run(settings);
    last_queues_ = cycle.queues().at("default");
    why_.clear();
    bool decided = false;
    const auto stop = [&](const std::vector<victim>& victims) {
      for (const auto& one : victims)
        for (const auto& p : one.pods) {
          evictions_.push_back(one.portion.workload);
          std::erase_if(pods_, [&](const pod& other) { return other.uid == p.uid; });
          decided = true;
        }
    };
    for (const auto& one : cycle.taken_back())
      stop(one.from.victims);
    for (const auto& turn : cycle.turns()) {
      why_[turn.who.workload] = turn.made.why.summary;
      stop(turn.made.victims);
    }
    for (const auto& turn : cycle.turns())
      for (const auto& one : turn.made.assignments) {
        auto placed = one.placed;
        placed.phase = pod_phase::running;
        placed.started = settings.now;
        placed.placed_by.clear();
        pods_.push_back(std::move(placed));
        decided = true;
      }
    return decided;
  }

  std::map<std::string, reprieve::node> nodes_;
  std::map<std::string, reprieve::queue> queues_;
  std::map<std::string, workload> workloads_;
  std::map<std::string, workload_status> statuses_;
  std::vector<pod> pods_;
  std::vector<std::string> evictions_;
  std::map<std::string, std::string> why_;
  queue_stage_result last_queues_;
  guards limits_;
  std::int64_t clock_ = 1'000;
};

inline resources gpus(std::int64_t n) {
  return {{"gpu", n * 1000}};
}

inline resources cpus(std::int64_t n) {
  return {{"cpu", n * 1000}};
}

inline queue sharing(const std::string& name, std::int64_t weight) {
  queue q;
  q.name = name;
  q.weight = weight;
  q.cap_by_demand = true;
  return q;
}

inline queue keeping(const std::string& name, std::int64_t weight) {
  auto q = sharing(name, weight);
  q.cap_by_demand = false;
  return q;
}

inline queue limited_to(queue q, resources most) {
  q.limit = std::move(most);
  return q;
}

inline workload work(const std::string& name, const std::string& queue, std::int32_t priority,
                     resources each, std::int32_t count = 1) {
  workload w;
  w.name = name;
  w.queue = queue;
  w.priority = priority;
  auto& group = w.groups.emplace_back();
  group.name = "w";
  group.count = count;
  group.pods.requests = std::move(each);
  return w;
}

inline workload gang_of(const std::string& name, const std::string& queue, std::int32_t priority,
                        resources each, std::int32_t count) {
  auto w = work(name, queue, priority, std::move(each), count);
  w.groups.front().min_count = count;
  w.groups.front().disruption = disruption_mode::pod_group;
  return w;
}

} // namespace reprieve::tests
