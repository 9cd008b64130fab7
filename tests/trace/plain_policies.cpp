#include "tests/trace/plain_policies.hpp"

#include "tests/trace/event_simulation.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>

namespace reprieve::trace {

namespace {

class first_fit_simulation : public event_simulation {
public:
  using event_simulation::event_simulation;

protected:
  void serve() override {
    // What found nothing in this pass is not tried again for others who ask for the same.
    std::set<room> hopeless;
    const auto line = waiting_;
    for (const auto& [priority, who] : line) {
      const bool nominated = pods_[who].nominated.has_value();
      if (!nominated && hopeless.contains(asked(who).asks))
        continue;
      if (const auto n = first_fit(who))
        place(who, *n);
      else if (!is_awaited(who) && !make_room(who) && !nominated)
        hopeless.insert(asked(who).asks);
    }
  }

private:
  bool make_room(pod_number who) {
    std::optional<choice> best;
    node_number where = 0;
    for (node_number n = 0; n < on_.size(); ++n) {
      std::vector<pod_number> lower;
      for (const auto p : on_[n])
        if (pods_[p].at != stage::leaving && asked(p).priority < asked(who).priority)
          lower.push_back(p);
      auto found = victims_on(n, who, std::move(lower));
      if (found && (!best || found->key() < best->key())) {
        best = std::move(found);
        where = n;
      }
    }
    if (best)
      preempt(who, where, best->victims);
    return best.has_value();
  }
};

class share_simulation : public event_simulation {
public:
  using event_simulation::event_simulation;

protected:
  /// Room that is made for somebody is nobody else's.
  bool keeps_from(pod_number, pod_number) const override {
    return true;
  }

  void serve() override {
    count();
    std::vector<std::vector<pod_number>> lines(plan_.weights.size());
    for (const auto& [priority, who] : waiting_)
      lines[asked(who).queue].push_back(who);
    std::vector<std::size_t> next(lines.size());
    std::set<std::pair<std::size_t, room>> hopeless;
    while (const auto q = least_served(lines, next)) {
      const auto who = lines[*q][next[*q]++];
      const bool nominated = pods_[who].nominated.has_value();
      if (!nominated && hopeless.contains({*q, asked(who).asks}))
        continue;
      if (const auto n = first_fit(who)) {
        if (!nominated)
          used_[*q] += asked(who).asks.gpu;
        place(who, *n);
      } else if (!is_awaited(who) && !make_room(who) && !nominated) {
        hopeless.insert({*q, asked(who).asks});
      }
    }
  }

private:
  /// What each queue uses, with what is made for it and without what leaves, and its share.
  void count() {
    used_.assign(plan_.weights.size(), 0);
    for (const auto& pods : on_)
      for (const auto p : pods)
        if (pods_[p].at != stage::leaving)
          used_[asked(p).queue] += asked(p).asks.gpu;
    auto wanted = used_;
    for (const auto& [priority, p] : waiting_)
      wanted[asked(p).queue] += asked(p).asks.gpu;
    for (const auto p : nominated_)
      used_[asked(p).queue] += asked(p).asks.gpu;
    share_ = shares_of(plan_.gpus(), plan_.weights, wanted);
  }

  std::optional<std::size_t> least_served(const std::vector<std::vector<pod_number>>& lines,
                                          const std::vector<std::size_t>& next) const {
    std::optional<std::size_t> least;
    for (std::size_t q = 0; q < lines.size(); ++q)
      if (next[q] < lines[q].size()
          && (!least || used_[q] * plan_.weights[*least] < used_[*least] * plan_.weights[q]))
        least = q;
    return least;
  }

  bool make_room(pod_number who) {
    const auto own = asked(who).queue;
    const bool nominated = pods_[who].nominated.has_value();
    const auto more = nominated ? 0 : asked(who).asks.gpu;
    const bool within_share = used_[own] + more <= share_[own];
    std::optional<choice> best;
    node_number where = 0;
    for (node_number n = 0; n < on_.size(); ++n) {
      auto found = victims_on(n, who, candidates_on(n, who, within_share));
      // Beyond its share a queue only exchanges its own.
      if (found && !within_share && !pays_for_itself(*found, who))
        continue;
      if (found && (!best || found->key() < best->key())) {
        best = std::move(found);
        where = n;
      }
    }
    if (!best)
      return false;
    for (const auto p : best->victims)
      used_[asked(p).queue] -= asked(p).asks.gpu;
    used_[own] += more;
    preempt(who, where, best->victims);
    return true;
  }

  bool pays_for_itself(const choice& found, pod_number who) const {
    std::int64_t given = 0;
    for (const auto p : found.victims)
      given += asked(p).asks.gpu;
    return given >= asked(who).asks.gpu;
  }

  std::vector<pod_number> candidates_on(node_number n, pod_number who, bool within_share) const {
    std::vector<pod_number> found;
    std::vector<pod_number> others;
    for (const auto p : on_[n]) {
      if (pods_[p].at == stage::leaving)
        continue;
      if (asked(p).queue != asked(who).queue)
        others.push_back(p);
      else if (asked(p).priority < asked(who).priority)
        found.push_back(p);
    }
    if (!within_share)
      return found;
    // The least important first, for as long as their queue stays at its share.
    std::ranges::sort(others, [&](pod_number a, pod_number b) {
      return std::tuple(asked(a).priority, -pods_[a].since.count(), a)
             < std::tuple(asked(b).priority, -pods_[b].since.count(), b);
    });
    auto above = used_;
    for (std::size_t q = 0; q < above.size(); ++q)
      above[q] -= share_[q];
    for (const auto p : others)
      if (auto& left = above[asked(p).queue]; asked(p).asks.gpu > 0 && left >= asked(p).asks.gpu) {
        left -= asked(p).asks.gpu;
        found.push_back(p);
      }
    return found;
  }

  std::vector<std::int64_t> used_;
  std::vector<std::int64_t> share_;
};

} // namespace

outcome simulate_first_fit(const replay_plan& plan) {
  return first_fit_simulation{plan}.run();
}

outcome simulate_shares(const replay_plan& plan) {
  return share_simulation{plan}.run();
}

std::vector<std::int64_t> shares_of(std::int64_t gpus, const std::vector<std::int64_t>& weights,
                                    const std::vector<std::int64_t>& asked) {
  std::vector<std::int64_t> shares(weights.size());
  for (; gpus > 0; --gpus) {
    std::optional<std::size_t> least;
    for (std::size_t q = 0; q < weights.size(); ++q)
      if (shares[q] < asked[q]
          && (!least || (shares[q] + 1) * weights[*least] < (shares[*least] + 1) * weights[q]))
        least = q;
    if (!least)
      break;
    ++shares[*least];
  }
  return shares;
}

} // namespace reprieve::trace
