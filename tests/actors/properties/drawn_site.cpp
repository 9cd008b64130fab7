#include "tests/actors/properties/drawn_site.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace reprieve::tests {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

} // namespace

drawn_site::drawn_site(std::uint64_t seed) : luck_(seed) {
  draw_groups();
  draw_queues();
  draw_nodes();
  draw_budgets();
}

/// Names decide on shards, so that they are different in every cluster.
std::string drawn_site::name(std::string_view kind) {
  return fmt::format("{}{}-{:04x}", kind, ++named_, luck_.below(0x10000));
}

void drawn_site::draw_groups() {
  groups_.emplace_back().name = "default";
  if (luck_.one_in(2)) {
    auto& group = groups_.emplace_back();
    group.name = "sessions";
    group.policy = group_policy::sessions;
    group.preemptible_priority = static_cast<std::int32_t>(luck_.between(2, 9));
    group.order = luck_.one_in(2) ? preemption_order::oldest : preemption_order::newest;
  }
  if (luck_.one_in(2)) {
    auto& group = groups_.emplace_back();
    group.name = "counted";
    group.policy = group_policy::lifecycle;
  }
  for (auto& group : groups_) {
    group.minimised = luck_.one_in(2) ? minimise::pods : minimise::work;
    group.force_delete_after = seconds{luck_.between(1, 10)};
    group.heartbeat_timeout = seconds{luck_.between(3, 10)};
    group.required_node.preemption_start_delay = seconds{luck_.one_in(2) ? 0 : luck_.between(1, 5)};
    auto& limits = group.limits;
    limits.opt_out_is_veto = luck_.one_in(2);
    if (luck_.one_in(6))
      limits.minimum_runtime = seconds{luck_.between(1, 5)};
    if (luck_.one_in(6))
      limits.victims_per_decision = static_cast<std::int32_t>(luck_.between(1, 4));
    if (luck_.one_in(6))
      limits.preemptions_per_workload_per_hour = static_cast<std::int32_t>(luck_.between(1, 3));
    if (luck_.one_in(6))
      group.divisible = {"gpu"};
  }
}

void drawn_site::draw_amounts(queue& q) {
  q.weight = luck_.between(1, 5);
  q.cap_by_demand = !luck_.one_in(3);
  q.limit.clear();
  q.guaranteed.clear();
  if (luck_.one_in(3))
    q.limit["gpu"] = 1000 * luck_.between(1, 16);
  if (luck_.one_in(8))
    q.limit["cpu"] = 1000 * luck_.between(2, 24);
  if (luck_.one_in(8))
    q.limit["pods"] = luck_.between(1, 8);
  const bool has_children =
    std::ranges::any_of(queues_, [&](const queue& one) { return one.parent == q.name; });
  const auto parent = std::ranges::find(queues_, q.parent, &queue::name);
  // What is guaranteed has to fit into all limits, now and later.
  if (luck_.one_in(3) && !has_children && (parent == queues_.end() || parent->limit.empty())) {
    const auto most = q.limit.contains("gpu") ? q.limit["gpu"] / 1000 : 4;
    q.guaranteed["gpu"] = 1000 * luck_.between(0, std::min<std::int64_t>(most, 4));
  }
  if (has_children)
    for (const auto& one : queues_)
      if (one.parent == q.name && !one.guaranteed.empty())
        q.limit.clear();
}

void drawn_site::draw_queues() {
  const auto count = luck_.between(0, 6);
  for (std::int64_t i = 0; i < count; ++i) {
    queue q;
    q.name = name("q");
    if (!queues_.empty() && luck_.one_in(2))
      q.parent = queues_[luck_.below(queues_.size())].name;
    draw_amounts(q);
    queues_.push_back(std::move(q));
  }
}

void drawn_site::draw_nodes() {
  for (const auto& group : groups_)
    for (auto left = luck_.between(1, 5); left > 0; --left) {
      auto& n = nodes_.emplace_back();
      n.name = name("n");
      n.resource_group = group.name;
      n.capacity = {{"cpu", 1000 * luck_.between(4, 16)}, {"gpu", 1000 * luck_.between(2, 8)}};
      if (luck_.one_in(3))
        n.capacity["pods"] = luck_.between(2, 8);
      n.labels["zone"] = luck_.one_in(2) ? "a" : "b";
    }
}

void drawn_site::draw_budgets() {
  for (const auto& group : groups_)
    for (const std::string app : {"x", "y"}) {
      if (!luck_.one_in(3))
        continue;
      auto& budget = budgets_.emplace_back();
      budget.name = name("budget");
      budget.resource_group = group.name;
      budget.match_labels = {{"app", app}};
      (luck_.one_in(2) ? budget.min_available : budget.max_unavailable) =
        static_cast<std::int32_t>(luck_.between(0, 3));
    }
}

std::vector<object> drawn_site::catalog() const {
  std::vector<object> all(groups_.begin(), groups_.end());
  all.insert(all.end(), queues_.begin(), queues_.end());
  return all;
}

std::vector<object> drawn_site::contents() {
  std::vector<object> all(nodes_.begin(), nodes_.end());
  all.insert(all.end(), budgets_.begin(), budgets_.end());
  for (auto left = luck_.between(4, 12); left > 0; --left)
    all.emplace_back(work_.emplace_back(draw_work()));
  return all;
}

const resource_group& drawn_site::some_group() {
  return groups_[luck_.below(groups_.size())];
}

/// Some of it ends by itself, stops slowly, or does not stop at all.
void drawn_site::draw_end(workload& w) {
  auto& annotations = w.groups.front().pods.annotations;
  w.grace_period = seconds{luck_.between(0, 3)};
  if (luck_.one_in(3))
    annotations["simulation/run-for"] = fmt::format("{}s", luck_.between(1, 12));
  annotations["simulation/stop-takes"] = fmt::format("{}ms", luck_.between(0, 4000));
  if (luck_.one_in(12))
    annotations["simulation/stuck-for"] = fmt::format("{}s", luck_.between(10, 60));
  w.resume.policy = static_cast<resume_policy>(luck_.below(3));
  w.resume.backoff = milliseconds{luck_.between(100, 3000)};
}

void drawn_site::draw_gang(workload& w) {
  auto& group = w.groups.front();
  group.min_count =
    luck_.one_in(3) ? static_cast<std::int32_t>(luck_.between(1, group.count)) : group.count;
  if (luck_.one_in(2))
    group.disruption = disruption_mode::pod_group;
  if (luck_.one_in(4))
    group.replicas = 2;
  if (luck_.one_in(4))
    group.topology_keys = {"zone"};
}

/// For one node of its group, which it can't do without.
void drawn_site::draw_daemon(workload& w) {
  w.kind = workload_kind::daemon;
  w.groups.front().count = 1;
  const auto first = luck_.below(nodes_.size());
  for (std::size_t i = 0; i < nodes_.size(); ++i)
    if (const auto& n = nodes_[(first + i) % nodes_.size()]; n.resource_group == w.resource_group)
      w.groups.front().required_node = n.name;
}

workload drawn_site::draw_work() {
  workload w;
  if (!work_.empty() && luck_.one_in(3)) { // one more of its kind
    w = work_[luck_.below(work_.size())];
    w.name = name("w");
    return w;
  }
  const auto& into = some_group();
  w.name = name("w");
  w.resource_group = into.name;
  if (!queues_.empty() && !luck_.one_in(6))
    w.queue = queues_[luck_.below(queues_.size())].name;
  w.priority = static_cast<std::int32_t>(luck_.between(0, 9));
  if (luck_.one_in(6))
    w.preemption_priority = *w.priority + static_cast<std::int32_t>(luck_.between(0, 3));
  auto& group = w.groups.emplace_back();
  group.name = "g";
  group.count = static_cast<std::int32_t>(luck_.between(1, 4));
  group.pods.requests = {{"gpu", 1000 * luck_.between(0, 4)}, {"cpu", 1000 * luck_.between(1, 4)}};
  group.pods.labels["app"] = luck_.one_in(2) ? "x" : "y";
  if (luck_.one_in(10))
    group.pods.labels["reprieve/allow-preemption"] = "false";
  if (luck_.one_in(10))
    group.pods.node_selector = {{"zone", "a"}};
  draw_end(w);
  if (into.policy == group_policy::lifecycle && !luck_.one_in(4)) {
    w.kind = workload_kind::deployment;
    return w;
  }
  constexpr workload_kind kinds[] = {workload_kind::batch, workload_kind::inference,
                                     workload_kind::interactive};
  w.kind = kinds[luck_.below(std::size(kinds))];
  w.checkpoint.supported = luck_.one_in(2);
  if (luck_.one_in(8))
    w.minimum_runtime = seconds{luck_.between(1, 6)};
  if (luck_.one_in(10))
    draw_daemon(w);
  else if (luck_.one_in(2))
    draw_gang(w);
  return w;
}

void drawn_site::change_queue(site_change& made) {
  auto& q = queues_[luck_.below(queues_.size())];
  if (luck_.one_in(2))
    q.weight = luck_.between(1, 9);
  else
    draw_amounts(q);
  made.put.emplace_back(q);
}

void drawn_site::change_node(site_change& made) {
  auto& n = nodes_[luck_.below(nodes_.size())];
  if (luck_.one_in(3)) { // and then says nothing for a while
    made.heard = {n.name};
    return;
  }
  if (luck_.one_in(2))
    n.schedulable = !n.schedulable;
  else if (luck_.one_in(2))
    n.ready = !n.ready;
  else
    n.capacity["gpu"] = 1000 * luck_.between(2, 8);
  made.put.emplace_back(n);
}

void drawn_site::change_work(site_change& made) {
  const auto at = luck_.below(work_.size());
  if (luck_.one_in(2)) {
    made.removed.emplace(object_kind::workload, work_[at].name);
    work_.erase(work_.begin() + static_cast<std::ptrdiff_t>(at));
    return;
  }
  auto& w = work_[at];
  if (luck_.one_in(2) && w.kind != workload_kind::daemon)
    w.groups.front().count =
      std::max(w.groups.front().needed(), static_cast<std::int32_t>(luck_.between(1, 5)));
  else
    w.preemption_priority = *w.priority + static_cast<std::int32_t>(luck_.between(0, 4));
  made.put.emplace_back(w);
}

site_change drawn_site::next() {
  site_change made;
  const auto kind = luck_.below(10);
  if (kind < 3 && !queues_.empty())
    change_queue(made);
  else if (kind < 5)
    change_node(made);
  else if (kind < 7 && !work_.empty())
    change_work(made);
  else
    for (auto left = luck_.between(1, 4); left > 0; --left)
      made.put.emplace_back(work_.emplace_back(draw_work()));
  made.then = luck_.one_in(2)   ? milliseconds{luck_.between(0, 50)}
              : luck_.one_in(4) ? milliseconds{luck_.between(5'000, 20'000)}
                                : milliseconds{luck_.between(50, 3'000)};
  return made;
}

} // namespace reprieve::tests
