#include "actors/simulated/simulated_scheduler.hpp"

#include "state/quantities/quantity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace reprieve {

namespace {

constexpr std::chrono::seconds time_for_the_count{1};

} // namespace

duration annotated(const pod& p, std::string_view key, duration otherwise) {
  const auto found = p.annotations.find(key);
  if (found == p.annotations.end())
    return otherwise;
  const auto parsed = parse_duration(found->second);
  return parsed.ok() ? *parsed : otherwise;
}

void simulated_scheduler::watch(const watch_nodes& order) {
  std::erase_if(machines_, [&](const auto& one) { return one.second.shard == order.shard; });
  for (const auto& spec : order.nodes)
    machines_.insert_or_assign(spec.name, machine{spec, order.shard});
}

bool simulated_scheduler::is_newest(const std::string& resource_group, revision epoch) {
  auto& newest = newest_epoch_[resource_group];
  newest = std::max(newest, epoch);
  return epoch == newest;
}

bool simulated_scheduler::count(const count_order& order) {
  if (!is_newest(order.resource_group, order.epoch))
    return false;
  const auto& workload = order.what->what().workload;
  vacant_.erase(workload);
  counted_.insert_or_assign(workload, order);
  return true;
}

void simulated_scheduler::count(const count_only& order) {
  if (is_newest(order.resource_group, order.epoch))
    std::erase_if(counted_, [&](const auto& one) {
      return one.second.resource_group == order.resource_group
             && !std::ranges::binary_search(order.deployments, one.first);
    });
}

void simulated_scheduler::take(const std::string& node, const resources& requests,
                               std::int64_t sign) {
  auto& used = used_[node];
  for (const auto& [name, amount] : requests)
    used[name] += sign * amount;
  used[std::string(resource::pods)] += sign;
}

void simulated_scheduler::came(const life& p) {
  if (replicas_[p.workload].insert_or_assign(p.uid, replica{p.created, p.ordinal, p.node}).second)
    take(p.node, p.requests, 1);
  auto& next = next_ordinal_[p.workload];
  next = std::max(next, p.ordinal + 1);
}

void simulated_scheduler::leaves(const life& p) {
  replicas_[p.workload].erase(p.uid);
}

void simulated_scheduler::returns(const life& p) {
  replicas_[p.workload].insert_or_assign(p.uid, replica{p.created, p.ordinal, p.node});
}

void simulated_scheduler::ordered_away(const life& p, time_point now) {
  auto& vacant = vacant_[p.workload];
  ++vacant.places;
  vacant.until = now + time_for_the_count;
}

void simulated_scheduler::gone(const life& p) {
  leaves(p);
  take(p.node, p.requests, -1);
}

bool simulated_scheduler::suits(const machine& one, const count_order& order) const {
  const auto& spec = one.spec;
  if (!spec.schedulable || !spec.ready || spec.resource_group != order.resource_group)
    return false;
  for (const auto& [key, value] : order.node_selector)
    if (const auto label = spec.labels.find(key);
        label == spec.labels.end() || label->second != value)
      return false;
  if (!std::ranges::all_of(spec.taints, [&](const taint& t) {
        return std::ranges::any_of(order.tolerations,
                                   [&](const toleration& by) { return tolerates(by, t); });
      }))
    return false;
  const auto used = used_.find(spec.name);
  const auto room_for = [&](std::string_view name, std::int64_t asked) {
    const auto taken = used == used_.end() ? 0 : amount_of(used->second, name);
    return amount_of(spec.capacity, name) - taken >= asked;
  };
  if (spec.capacity.contains(resource::pods) && !room_for(resource::pods, 1))
    return false;
  return std::ranges::all_of(order.what->what().requests, [&](const auto& asked) {
    return asked.second <= 0 || room_for(asked.first, asked.second);
  });
}

bool simulated_scheduler::is_down(const std::string& node) const {
  const auto found = machines_.find(node);
  return found != machines_.end() && !found->second.spec.ready;
}

void simulated_scheduler::stop_those_too_many(const count_order& order, time_point now,
                                              moves& made) {
  const auto& what = order.what->what();
  auto& replicas = replicas_[what.workload];
  if (std::ssize(replicas) <= order.count) {
    too_many_since_.erase(what.workload);
    return;
  }
  const auto since = too_many_since_.try_emplace(what.workload, now).first->second;
  const auto due = since + annotated(what, "simulation/scale-down-takes", duration{0});
  if (due > now) {
    made.look_at(due);
    return;
  }
  while (std::ssize(replicas) > order.count) {
    const auto newest = std::ranges::max_element(replicas, {}, [&](const auto& one) {
      const bool expected =
        std::ranges::find(order.first_to_go, one.first) != order.first_to_go.end();
      return std::tuple(expected, is_down(one.second.node), one.second.created, one.second.ordinal);
    });
    made.stopped.push_back(newest->first);
    replicas.erase(newest);
  }
  too_many_since_.erase(what.workload);
}

std::int32_t simulated_scheduler::wanted(const count_order& order, time_point now, moves& made) {
  const auto vacant = vacant_.find(order.what->what().workload);
  if (vacant == vacant_.end())
    return order.count;
  const auto& [places, until] = vacant->second;
  if (until > now) {
    made.look_at(until);
    return order.count - places;
  }
  vacant_.erase(vacant);
  return order.count;
}

simulated_scheduler::moves simulated_scheduler::decide(time_point now) {
  moves made;
  std::vector<const count_order*> turns;
  for (const auto& [name, order] : counted_)
    turns.push_back(&order);
  std::ranges::stable_sort(turns, std::greater{},
                           [](const auto* one) { return one->what->what().priority; });
  for (const auto* order : turns) {
    const auto& what = order->what->what();
    auto& replicas = replicas_[what.workload];
    stop_those_too_many(*order, now, made);
    const auto most = wanted(*order, now, made);
    while (std::ssize(replicas) < most) {
      const auto on =
        std::ranges::find_if(machines_, [&](const auto& one) { return suits(one.second, *order); });
      if (on == machines_.end())
        break;
      life p;
      p.ordinal = next_ordinal_[what.workload];
      p.uid = fmt::format("{}-{}-{}.{}", what.workload, what.group, p.ordinal, order->uid);
      p.node = on->first;
      p.workload = what.workload;
      p.requests = what.requests;
      p.counted = true;
      p.created = now;
      p.grace = what.checkpoint_time + what.grace_period;
      p.epoch = order->epoch;
      came(p);
      made.placed.push_back(std::move(p));
    }
  }
  return made;
}

pod_list::pointer simulated_scheduler::pod_of(const life& p) const {
  const auto order = counted_.find(p.workload);
  if (order == counted_.end())
    return nullptr;
  auto made = order->second.what->what();
  made.uid = p.uid;
  made.name = fmt::format("{}-{}-{}", made.workload, made.group, p.ordinal);
  made.index = p.ordinal;
  made.node = p.node;
  made.phase = pod_phase::bound;
  made.created = p.created;
  made.placed_by = placed_by_cluster;
  return std::make_shared<const shared_pod>(std::move(made));
}

std::vector<std::string> simulated_scheduler::replicas_of(const std::string& workload) const {
  std::vector<std::string> uids;
  if (const auto found = replicas_.find(workload); found != replicas_.end())
    for (const auto& [uid, one] : found->second)
      uids.push_back(uid);
  return uids;
}

} // namespace reprieve
