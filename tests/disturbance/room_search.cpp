#include "tests/disturbance/room_search.hpp"

#include <algorithm>
#include <set>

namespace reprieve::disturbance {

namespace {

/// Beyond so many steps a search ends with what is proved by then.
constexpr std::int64_t most_steps = 2'000'000;

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

} // namespace

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

std::optional<entitled_room> least_room(const still_cluster& cluster, const unit& who,
                                        const std::vector<std::size_t>& candidates,
                                        std::int64_t own_gpus, std::vector<std::int64_t> above) {
  return room_search(cluster, who, candidates, own_gpus, std::move(above)).run();
}

} // namespace reprieve::disturbance
