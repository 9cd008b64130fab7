#include "tests/disturbance/least_evictions.hpp"

#include <algorithm>
#include <limits>
#include <set>

namespace reprieve::disturbance {

namespace {

constexpr std::int64_t endless = std::numeric_limits<std::int64_t>::max() / 4;
/// Beyond so many steps a search ends with what is proved by then.
constexpr std::int64_t most_steps = 2'000'000;

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

/// The fewest pods that have to go so that `gpus` of theirs are free; nothing where all of them are
/// not enough.
std::optional<std::vector<std::size_t>> fewest_cover(const std::vector<running_unit>& running,
                                                     const std::vector<std::size_t>& candidates,
                                                     std::int64_t gpus) {
  if (gpus <= 0)
    return std::vector<std::size_t>{};
  // By GPUs that are covered, all beyond `gpus` as one.
  struct cell {
    std::int64_t pods = endless;
    std::vector<std::size_t> who;
  };
  std::vector<cell> best(static_cast<std::size_t>(gpus) + 1);
  best[0].pods = 0;
  for (const auto c : candidates) {
    const auto& one = running[c].what;
    for (auto covered = gpus; covered-- > 0;) {
      const auto& from = best[static_cast<std::size_t>(covered)];
      auto& to = best[static_cast<std::size_t>(std::min(gpus, covered + one.gpus_in_all()))];
      if (from.pods + one.pods < to.pods) {
        auto who = from.who;
        who.push_back(c);
        to = {from.pods + one.pods, std::move(who)};
      }
    }
  }
  if (best.back().pods >= endless)
    return std::nullopt;
  return best.back().who;
}

/// Looks for the fewest pods among candidates whose priorities are up to a threshold.
class room_search {
public:
  /// `own_gpus` have to come from candidates of `who`'s own queue; `above` is what may be taken
  /// from the other queues whatever the priority.
  room_search(const still_cluster& cluster, const unit& who,
              const std::vector<std::size_t>& candidates, std::int64_t own_gpus,
              std::vector<std::int64_t> above)
      : cluster_(cluster), who_(who), own_gpus_(own_gpus), above_(std::move(above)) {
    for (const auto c : candidates)
      for (const auto& [n, pods] : cluster.running[c].on)
        if (cluster.capacity[n] > 0)
          on_[n].push_back(c);
    for (const auto c : candidates)
      if (cluster.running[c].what.queue == who.queue)
        own_.push_back(c);
    list_options();
  }

  std::optional<entitled_room> run() {
    if (own_gpus_ > 0) {
      const auto cover = fewest_cover(cluster_.running, own_, own_gpus_);
      if (!cover)
        return std::nullopt;
      least_own_ = pods_of(*cover);
    }
    descend(0, who_.pods, 0);
    if (!best_)
      return std::nullopt;
    best_->cost.pods = best_pods_;
    if (steps_ > most_steps) {
      best_->cost.exact = false;
      best_->cost.pods =
        std::max(least_own_, rounded_up(rest_[0][static_cast<std::size_t>(who_.pods)]));
    }
    return best_;
  }

private:
  /// A way to get places on a node: the candidates there that have to go for it.
  struct option {
    std::int64_t places = 0;
    std::vector<std::size_t> victims;
    double share = 0; ///< of the victims' pods, each divided among the nodes that it is on
  };
  struct choice_of_node {
    node_number node = 0;
    std::vector<option> options;
  };

  static std::int64_t rounded_up(double pods) {
    const auto whole = static_cast<std::int64_t>(pods);
    return static_cast<double>(whole) + 1e-6 < pods ? whole + 1 : whole;
  }

  std::int64_t pods_of(const std::vector<std::size_t>& victims) const {
    std::int64_t pods = 0;
    for (const auto v : victims)
      pods += cluster_.running[v].what.pods;
    return pods;
  }

  void list_options() {
    for (node_number n = 0; n < cluster_.capacity.size(); ++n) {
      choice_of_node all{n, options_on(n)};
      if (!all.options.empty())
        nodes_.push_back(std::move(all));
    }
    // The cheapest first, so that a good set is found early.
    std::ranges::stable_sort(nodes_, {}, [](const choice_of_node& one) {
      double ratio = endless;
      for (const auto& o : one.options)
        ratio = std::min(ratio, o.share / static_cast<double>(o.places));
      return ratio;
    });
    // By node and places still to be found: no fewer pods than these, divided as above.
    const auto most = static_cast<std::size_t>(who_.pods);
    rest_.assign(nodes_.size() + 1, std::vector<double>(most + 1, endless));
    rest_[nodes_.size()][0] = 0;
    for (auto i = nodes_.size(); i-- > 0;)
      for (std::size_t places = 0; places <= most; ++places) {
        rest_[i][places] = rest_[i + 1][places];
        for (const auto& o : nodes_[i].options) {
          const auto left = places - std::min(places, static_cast<std::size_t>(o.places));
          rest_[i][places] = std::min(rest_[i][places], o.share + rest_[i + 1][left]);
        }
      }
  }

  /// Every smallest set for each number of places. Nobody has to go for what is free.
  std::vector<option> options_on(node_number n) const {
    std::vector<option> found;
    if (cluster_.capacity[n] < who_.gpus)
      return found;
    const auto here = on_.find(n);
    const auto none = std::vector<std::size_t>{};
    const auto& candidates = here == on_.end() ? none : here->second;
    const auto places_of = [&](std::uint32_t set) {
      auto free = cluster_.free[n];
      for (std::size_t i = 0; i < candidates.size(); ++i)
        if ((set >> i & 1U) != 0) {
          const auto& one = cluster_.running[candidates[i]];
          free += one.on.at(n) * one.what.gpus;
        }
      return std::min(free / who_.gpus, who_.pods);
    };
    for (std::uint32_t set = 0; set < std::uint32_t{1} << candidates.size(); ++set) {
      option made{places_of(set), {}, 0};
      bool smallest = made.places > 0;
      for (std::size_t i = 0; i < candidates.size(); ++i)
        if ((set >> i & 1U) != 0) {
          smallest = smallest && places_of(set & ~(1U << i)) < made.places;
          const auto& one = cluster_.running[candidates[i]];
          made.victims.push_back(candidates[i]);
          made.share += static_cast<double>(one.what.pods) / static_cast<double>(one.on.size());
        }
      if (smallest)
        found.push_back(std::move(made));
    }
    return found;
  }

  void descend(std::size_t i, std::int64_t places, double share) {
    if (++steps_ > most_steps)
      return;
    if (places <= 0) {
      finish();
      return;
    }
    const auto rest = rest_[i][static_cast<std::size_t>(places)];
    const auto bound = std::max({chosen_pods_, rounded_up(share + rest), least_own_});
    if (rest >= endless || bound >= best_pods_)
      return;
    for (const auto& o : nodes_[i].options) {
      std::vector<std::size_t> added;
      for (const auto v : o.victims)
        if (chosen_.insert(v).second) {
          added.push_back(v);
          chosen_pods_ += cluster_.running[v].what.pods;
        }
      places_[nodes_[i].node] = std::min(o.places, places);
      descend(i + 1, places - o.places, share + o.share);
      places_.erase(nodes_[i].node);
      for (const auto v : added) {
        chosen_.erase(v);
        chosen_pods_ -= cluster_.running[v].what.pods;
      }
    }
    descend(i + 1, places, share);
  }

  /// A set that makes the places: with what its quota asks for beside, it may be the best.
  void finish() {
    std::vector<std::size_t> victims(chosen_.begin(), chosen_.end());
    std::int64_t own = 0;
    for (const auto v : victims)
      if (cluster_.running[v].what.queue == who_.queue)
        own += cluster_.running[v].what.gpus_in_all();
    if (own < own_gpus_) {
      std::vector<std::size_t> others;
      for (const auto c : own_)
        if (!chosen_.contains(c))
          others.push_back(c);
      const auto more = fewest_cover(cluster_.running, others, own_gpus_ - own);
      if (!more)
        return;
      victims.insert(victims.end(), more->begin(), more->end());
    }
    const auto pods = pods_of(victims);
    if (pods >= best_pods_ || !leaves_shares(victims))
      return;
    best_pods_ = pods;
    best_ = entitled_room{std::move(victims), places_, {}};
  }

  /// Whether other queues were above their shares whenever something as important was taken.
  bool leaves_shares(const std::vector<std::size_t>& victims) const {
    std::map<queue_number, std::pair<std::int64_t, std::int64_t>> taken; // in all, the largest
    for (const auto v : victims) {
      const auto& one = cluster_.running[v].what;
      if (one.queue == who_.queue || one.priority < who_.priority)
        continue;
      auto& [sum, largest] = taken[one.queue];
      sum += one.gpus_in_all();
      largest = std::max(largest, one.gpus_in_all());
    }
    return std::ranges::all_of(taken, [&](const auto& one) {
      return one.second.first - one.second.second < above_[one.first];
    });
  }

  const still_cluster& cluster_;
  const unit& who_;
  std::int64_t own_gpus_;
  std::vector<std::int64_t> above_;
  std::map<node_number, std::vector<std::size_t>> on_;
  std::vector<std::size_t> own_;
  std::vector<choice_of_node> nodes_;
  std::vector<std::vector<double>> rest_;
  std::int64_t least_own_ = 0;

  std::set<std::size_t> chosen_;
  std::int64_t chosen_pods_ = 0;
  std::map<node_number, std::int64_t> places_;
  std::int64_t steps_ = 0;
  std::int64_t best_pods_ = endless;
  std::optional<entitled_room> best_;
};

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

std::optional<std::vector<std::size_t>> cheapest_cover(const std::vector<running_unit>& running,
                                                       std::vector<std::size_t> candidates,
                                                       std::int64_t gpus) {
  const auto priority = [&](std::size_t c) { return running[c].what.priority; };
  std::ranges::stable_sort(candidates, {}, priority);
  std::int64_t sum = 0;
  for (auto last = candidates.begin(); last != candidates.end() && sum < gpus; ++last) {
    sum += running[*last].what.gpus_in_all();
    if (sum >= gpus)
      candidates.erase(std::find_if(last, candidates.end(),
                                    [&](std::size_t c) { return priority(c) > priority(*last); }),
                       candidates.end());
  }
  return fewest_cover(running, candidates, gpus);
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
    if (auto found = room_search(cluster, who, {}, 0, {}).run())
      return found;
  const auto own_gpus = std::max(beyond_limit, asks - std::min(asks, below_share));

  auto above = used;
  for (std::size_t q = 0; q < above.size(); ++q)
    above[q] -= share[q];
  std::vector<std::size_t> candidates;
  for (std::size_t i = 0; i < cluster.running.size(); ++i) {
    const auto& one = cluster.running[i].what;
    if (one.priority < who.priority || (one.queue != who.queue && above[one.queue] > 0))
      candidates.push_back(i);
  }
  for (const auto threshold : priorities_of(cluster, candidates)) {
    std::vector<std::size_t> allowed;
    for (const auto c : candidates)
      if (cluster.running[c].what.priority <= threshold)
        allowed.push_back(c);
    if (auto found = room_search(cluster, who, allowed, own_gpus, above).run())
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
    const auto& [what, on] = cluster.running[i];
    if (what.queue == who.queue && what.priority <= who.priority && what.name != who.name
        && std::ranges::any_of(on, [&](const auto& one) { return was_on.contains(one.first); }))
      instead.push_back(i);
  }
  if (instead.empty())
    return false;
  take_away(without, instead);
  const auto limit = cluster.queues[who.queue].limit.value_or(endless);
  const auto with_it = used_by_queue(without)[who.queue] + who.gpus_in_all();
  const auto allowed = std::max(used_by_queue(cluster)[who.queue], shares(cluster)[who.queue]);
  return with_it <= std::min(limit, allowed) && room_search(without, who, {}, 0, {}).run();
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
    if (const auto cover = cheapest_cover(within_limits.running, own, beyond)) {
      for (const auto v : *cover)
        all.pods += within_limits.running[v].what.pods;
      take_away(within_limits, *cover);
    }
  }
  auto by_priority = newcomers;
  std::ranges::stable_sort(by_priority, std::greater{}, &unit::priority);
  const auto one = serve(within_limits, by_priority);
  const auto other = serve(within_limits, newcomers);
  const auto& fewer = other.pods < one.pods ? other : one;
  return {all.pods + fewer.pods, one.exact && other.exact};
}

} // namespace reprieve::disturbance
