#include "tests/engine/worlds/counted_cluster.hpp"

#include "tests/support/plain_room.hpp"

#include <algorithm>
#include <limits>
#include <tuple>

namespace reprieve::tests {

namespace {

void take(resources& room, const resources& requests) {
  for (const auto& [name, value] : taken_by(requests))
    room[name] -= value;
}

time_point start_of(const std::vector<const pod*>& portion) {
  return (*std::ranges::min_element(portion, {}, &pod::started))->started;
}

} // namespace

bool overdrawn(const resources& room) {
  return std::ranges::any_of(room, [](const auto& one) { return one.second < 0; });
}

bool first_fit(rooms& room, const node_names& nodes, const resources& requests, seats& taken) {
  const auto wanted = taken_by(requests);
  const auto found = std::ranges::find_if(nodes, [&](const auto& name) {
    return std::ranges::all_of(wanted, [&](const auto& one) {
      return one.second <= 0 || one.second <= amount_of(room[name], one.first);
    });
  });
  if (found == nodes.end())
    return false;
  take(room[*found], requests);
  taken.emplace_back(*found, requests);
  return true;
}

counted_cluster::counted_cluster(const cluster& given, const preemptor& placed, time_point at)
    : in(given), who(placed), now(at) {
  std::map<portion_id, std::vector<const pod*>> found;
  for (const auto& p : in.all_pods())
    found[portion_of(p)].push_back(&p);
  for (const auto& [id, pods] : found)
    portions.push_back(pods);
  std::ranges::stable_sort(portions, {}, [](const auto& pods) {
    const bool group = pods.front()->disruption == disruption_mode::pod_group;
    return std::tuple{-pods.front()->priority, !group, -std::ssize(pods), start_of(pods)};
  });
}

std::vector<node_names> counted_cluster::domains() const {
  std::map<std::vector<std::string>, node_names> found;
  for (const auto& n : in.all_nodes()) {
    std::vector<std::string> place;
    for (const auto& key : who.groups.front().topology_keys)
      place.push_back(n.labels.at(key));
    found[who.gang ? place : std::vector{n.name}].insert(n.name);
  }
  std::vector<node_names> all;
  for (const auto& [place, nodes] : found)
    all.push_back(nodes);
  return all;
}

ranks counted_cluster::candidates_on(const node_names& nodes) const {
  ranks found;
  for (std::size_t rank = 0; rank < portions.size(); ++rank)
    for (const auto* p : portions[rank])
      if (p->priority < who.priority && nodes.contains(p->node))
        found.insert(rank);
  return found;
}

rooms counted_cluster::room_left(const ranks& gone, const seats& taken) const {
  rooms room;
  for (const auto& n : in.all_nodes())
    room[n.name] = room_of(n);
  for (std::size_t rank = 0; rank < portions.size(); ++rank)
    for (const auto* p : portions[rank])
      if (!gone.contains(rank))
        take(room[p->node], p->requests);
  for (const auto& [node, requests] : taken)
    take(room[node], requests);
  return room;
}

std::map<std::size_t, std::int64_t> counted_cluster::pods_over_budget(const ranks& gone) const {
  std::map<std::size_t, std::int64_t> over;
  for (const auto& budget : in.all_budgets()) {
    const auto counts = [&](const pod& p) { return matches(budget.match_labels, p.labels); };
    const auto running = std::ranges::count_if(in.all_pods(), counts);
    auto left = disruptions_allowed(budget, running, running);
    for (const auto rank : gone)
      over[rank] += std::ranges::count_if(portions[rank],
                                          [&](const pod* p) { return counts(*p) && left-- <= 0; });
  }
  return over;
}

score counted_cluster::score_of(const ranks& victims, const seats& taken) const {
  score total;
  total.highest_victim_priority = std::numeric_limits<std::int32_t>::min();
  total.earliest_start_of_most_important = total.most_important.start = now;
  if (!victims.empty()) {
    const auto& first = portions[*victims.begin()];
    total.most_important = {first.front()->disruption == disruption_mode::pod_group,
                            std::ssize(first), start_of(first)};
  }
  for (const auto rank : victims)
    for (const auto* p : portions[rank]) {
      total.highest_victim_priority = std::max(total.highest_victim_priority, p->priority);
      if (p->priority == total.highest_victim_priority)
        total.earliest_start_of_most_important =
          std::min(total.earliest_start_of_most_important, p->started);
      total.priority_sum += p->priority + (std::int64_t{1} << 31);
      ++total.pods;
      total.work_lost += amount_of(p->requests, resource::gpu) / 1000
                         * std::chrono::floor<std::chrono::seconds>(now - p->started).count();
    }
  for (const auto& [rank, over] : pods_over_budget(victims))
    total.budget_violations += over;
  total.cascades = cascades(victims, taken);
  return total;
}

bool counted_cluster::cascades(const ranks& victims, const seats& taken) const {
  auto room = room_left(victims, taken);
  node_names nodes;
  for (const auto& [name, left] : room)
    nodes.insert(name);
  const auto without_those_below = [&](std::int32_t priority) {
    auto left = room;
    for (std::size_t rank = 0; rank < portions.size(); ++rank)
      if (!victims.contains(rank) && priority_of(rank) < priority)
        for (const auto* p : portions[rank])
          for (const auto& [name, value] : taken_by(p->requests))
            left[p->node][name] += value;
    return left;
  };
  for (const auto rank : victims) {
    bool preempts = false;
    bool all_come_back = true;
    for (const auto* p : portions[rank]) {
      seats found;
      if (first_fit(room, nodes, p->requests, found))
        continue;
      auto left = without_those_below(p->priority);
      const bool comes_back = first_fit(left, nodes, p->requests, found);
      if (comes_back)
        take(room[found.front().first], p->requests);
      preempts = preempts || comes_back;
      all_come_back = all_come_back && comes_back;
    }
    const bool whole = portions[rank].front()->disruption == disruption_mode::pod_group;
    if (preempts && (all_come_back || !whole))
      return true;
  }
  return false;
}

} // namespace reprieve::tests
