#include "tests/disturbance/least_evictions.hpp"

#include "tests/disturbance/room_search.hpp"

#include <algorithm>
#include <set>
#include <string_view>
#include <tuple>

namespace reprieve::disturbance {

namespace {

std::vector<std::int64_t> used_by_queue(const still_cluster& cluster) {
  std::vector<std::int64_t> used(cluster.queues.size());
  for (const auto& one : cluster.running)
    used[one.what.queue] += one.what.gpus_in_all();
  return used;
}

/// What the queues deserve for what runs and waits, as far as their limits admit it.
std::vector<std::int64_t> shares(const still_cluster& cluster) {
  auto asked = used_by_queue(cluster);
  for (const auto& one : cluster.waiting)
    if (one.gpus_in_all() <= cluster.queues[one.queue].limit.value_or(endless))
      asked[one.queue] += one.gpus_in_all();
  return deserved(cluster.shared, cluster.queues, asked);
}

void take_away(still_cluster& cluster, std::vector<std::size_t> victims) {
  std::ranges::sort(victims, std::greater{});
  for (const auto v : victims) {
    const auto& one = cluster.running[v];
    for (const auto& [n, pods] : one.on)
      if (cluster.capacity[n] > 0)
        cluster.free[n] += pods * one.what.gpus;
    cluster.running.erase(cluster.running.begin() + static_cast<std::ptrdiff_t>(v));
  }
}

/// The priorities among the candidates, lowest first.
std::set<std::int32_t> priorities_of(const still_cluster& cluster,
                                     const std::vector<std::size_t>& candidates) {
  std::set<std::int32_t> found;
  for (const auto c : candidates)
    found.insert(cluster.running[c].what.priority);
  return found;
}

least serve(still_cluster cluster, const std::vector<unit>& newcomers) {
  least all;
  for (const auto& who : newcomers) {
    const auto found = room_for(cluster, who);
    if (!found)
      continue;
    all.pods += found->cost.pods;
    all.exact = all.exact && found->cost.exact;
    take_away(cluster, found->victims);
    std::erase_if(cluster.waiting, [&](const unit& one) { return one.name == who.name; });
    for (const auto& [n, pods] : found->places)
      cluster.free[n] -= pods * who.gpus;
    cluster.running.push_back({who, found->places});
  }
  return all;
}

} // namespace

std::vector<std::int64_t> deserved(std::int64_t gpus, const std::vector<share_queue>& queues,
                                   const std::vector<std::int64_t>& asked) {
  std::vector<std::int64_t> most(queues.size());
  for (std::size_t q = 0; q < queues.size(); ++q)
    most[q] = std::min(asked[q], queues[q].limit.value_or(endless));
  std::vector<std::int64_t> given(queues.size());
  std::set<std::size_t> open;
  for (std::size_t q = 0; q < queues.size(); ++q)
    open.insert(q);
  // Those whose part is more than they ask for get that, until nobody's is.
  for (bool again = true; again && !open.empty();) {
    again = false;
    std::int64_t weights = 0;
    for (const auto q : open)
      weights += queues[q].weight;
    std::vector<std::size_t> full;
    for (const auto q : open)
      if (most[q] * weights <= gpus * queues[q].weight)
        full.push_back(q);
    for (const auto q : full) {
      given[q] = most[q];
      open.erase(q);
      again = true;
    }
    for (const auto q : full)
      gpus -= given[q];
  }
  std::int64_t weights = 0;
  for (const auto q : open)
    weights += queues[q].weight;
  std::vector<std::pair<std::int64_t, std::size_t>> remainders;
  auto left = gpus;
  for (const auto q : open) {
    given[q] = gpus * queues[q].weight / weights;
    left -= given[q];
    remainders.emplace_back(-(gpus * queues[q].weight % weights), q);
  }
  std::ranges::sort(remainders);
  for (std::size_t i = 0; i < remainders.size() && left > 0; ++i, --left)
    ++given[remainders[i].second];
  return given;
}

std::vector<std::size_t> given_back(const std::vector<running_unit>& running,
                                    std::vector<std::size_t> candidates, std::int64_t gpus) {
  std::ranges::sort(candidates, {}, [&](std::size_t c) {
    const auto& one = running[c];
    return std::tuple{one.what.priority, -one.since, std::string_view{one.what.name}};
  });
  std::vector<std::size_t> going;
  for (const auto c : candidates) {
    if (gpus <= 0)
      break;
    gpus -= running[c].what.gpus_in_all();
    going.push_back(c);
  }
  for (auto i = going.size(); i-- > 0;)
    if (const auto frees = running[going[i]].what.gpus_in_all(); gpus + frees <= 0) {
      gpus += frees;
      going.erase(going.begin() + static_cast<std::ptrdiff_t>(i));
    }
  return going;
}

std::optional<entitled_room> room_for(const still_cluster& cluster, const unit& who) {
  const auto limit = cluster.queues[who.queue].limit.value_or(endless);
  if (who.gpus_in_all() > limit)
    return std::nullopt;
  const auto used = used_by_queue(cluster);
  const auto share = shares(cluster);
  const auto asks = who.gpus_in_all();
  const auto below_share = std::max<std::int64_t>(0, share[who.queue] - used[who.queue]);
  const auto beyond_limit = std::max<std::int64_t>(0, used[who.queue] + asks - limit);
  // In free room it costs nobody anything, whosever share that is.
  if (beyond_limit == 0)
    if (auto found = least_room(cluster, who, {}, 0, {}))
      return found;
  const auto own_gpus = std::max(beyond_limit, asks - std::min(asks, below_share));

  auto above = used;
  for (std::size_t q = 0; q < above.size(); ++q)
    above[q] -= share[q];
  const bool crowded = std::ranges::any_of(above, [](std::int64_t one) { return one > 0; });
  std::vector<std::size_t> candidates;
  for (std::size_t i = 0; i < cluster.running.size(); ++i) {
    const auto& one = cluster.running[i].what;
    const bool own = one.queue == who.queue;
    if (crowded && !own ? above[one.queue] > 0 : one.priority < who.priority)
      candidates.push_back(i);
  }
  for (const auto threshold : priorities_of(cluster, candidates)) {
    std::vector<std::size_t> allowed;
    for (const auto c : candidates)
      if (cluster.running[c].what.priority <= threshold)
        allowed.push_back(c);
    if (auto found = least_room(cluster, who, allowed, own_gpus, above))
      return found;
  }
  return std::nullopt;
}

bool was_displaced(const still_cluster& cluster, const unit& who,
                   const std::map<node_number, std::int64_t>& was_on,
                   const std::vector<std::size_t>& started) {
  auto without = cluster;
  std::vector<std::size_t> instead;
  for (const auto i : started) {
    const auto& [what, on, since] = cluster.running[i];
    const bool comes_before =
      std::pair(-what.priority, what.number) < std::pair(-who.priority, who.number);
    if (what.queue == who.queue && !comes_before && what.name != who.name
        && std::ranges::any_of(on, [&](const auto& one) { return was_on.contains(one.first); }))
      instead.push_back(i);
  }
  if (instead.empty())
    return false;
  take_away(without, instead);
  const auto limit = cluster.queues[who.queue].limit.value_or(endless);
  const auto with_it = used_by_queue(without)[who.queue] + who.gpus_in_all();
  const auto allowed = std::max(used_by_queue(cluster)[who.queue], shares(cluster)[who.queue]);
  return with_it <= std::min(limit, allowed) && least_room(without, who, {}, 0, {});
}

least least_evictions(const still_cluster& cluster, const std::vector<unit>& newcomers) {
  auto within_limits = cluster;
  least all;
  for (queue_number q = 0; q < cluster.queues.size(); ++q) {
    const auto beyond = used_by_queue(within_limits)[q] - cluster.queues[q].limit.value_or(endless);
    std::vector<std::size_t> own;
    for (std::size_t i = 0; i < within_limits.running.size(); ++i)
      if (within_limits.running[i].what.queue == q)
        own.push_back(i);
    const auto victims = given_back(within_limits.running, own, beyond);
    for (const auto v : victims)
      all.pods += within_limits.running[v].what.pods;
    take_away(within_limits, victims);
  }
  auto by_priority = newcomers;
  std::ranges::stable_sort(by_priority, std::greater{}, &unit::priority);
  const auto one = serve(within_limits, by_priority);
  const auto other = serve(within_limits, newcomers);
  const auto& fewer = other.pods < one.pods ? other : one;
  return {all.pods + fewer.pods, one.exact && other.exact};
}

} // namespace reprieve::disturbance
