#pragma once

#include "tests/trace/outcome.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <queue>
#include <set>
#include <tuple>
#include <vector>

namespace reprieve::trace {

using pod_number = std::size_t;
using node_number = std::size_t;

enum class stage { outside, waiting, starting, running, leaving, done };

struct live_pod {
  stage at = stage::outside;
  std::optional<node_number> node;      ///< where it takes room
  std::optional<node_number> nominated; ///< where room is made for it
  std::optional<pod_number> leaves_for;
  milliseconds since{0};
  int preempted = 0;
  int turn = 0; ///< counts its stages: what was planned for an earlier one is void
};

/// Machines, pods and time; what is decided comes from a policy on top.
class event_simulation {
public:
  explicit event_simulation(const replay_plan& plan)
      : plan_(plan), pods_(plan.arrivals.size()), on_(plan.machines.size()) {
    for (pod_number p = 0; p < pods_.size(); ++p)
      at(plan.arrivals[p].at, p);
  }
  virtual ~event_simulation() = default;

  outcome run() {
    while (!events_.empty() && events_.top().when <= plan_.length) {
      now_ = events_.top().when;
      for (; !events_.empty() && events_.top().when == now_; events_.pop())
        if (const auto& due = events_.top(); due.turn == pods_[due.who].turn)
          step(due.who);
      serve();
    }
    for (pod_number p = 0; p < pods_.size(); ++p)
      if (pods_[p].at == stage::running)
        count_use(p, plan_.length);
    return told_;
  }

protected:
  const arrival& asked(pod_number p) const {
    return plan_.arrivals[p];
  }

  /// Places and stops whom it will.
  virtual void serve() = 0;

  /// What the node has for the pod: that which nobody takes and which is not kept for another of
  /// its priority or above. Those who leave for somebody leave their room to that one.
  room free_for(pod_number who, node_number n) const {
    auto left = plan_.machines[n].capacity;
    std::map<pod_number, room> made;
    for (const auto p : on_[n]) {
      left -= asked(p).asks;
      if (pods_[p].leaves_for)
        made[*pods_[p].leaves_for] += asked(p).asks;
    }
    for (const auto p : nominated_)
      if (p != who && pods_[p].nominated == n && keeps_from(p, who)) {
        auto kept = asked(p).asks;
        kept -= made[p];
        left -= kept.without_debts();
      }
    return left;
  }

  virtual bool keeps_from(pod_number holder, pod_number who) const {
    return asked(holder).priority >= asked(who).priority;
  }

  /// Who goes on a node, the most important first.
  struct choice {
    std::vector<pod_number> victims;
    std::int64_t highest = 0;
    std::int64_t sum = 0;
    milliseconds start_of_highest{0}; ///< the earliest

    auto key() const {
      return std::tuple(highest, sum, victims.size(), -start_of_highest.count());
    }
  };

  /// Those of the candidates who have to go for `who`; nothing where it would not fit without all
  /// of them. Those who leave already cost nothing, unless their room is kept for another.
  std::optional<choice> victims_on(node_number n, pod_number who,
                                   std::vector<pod_number> candidates) const {
    auto left = plan_.machines[n].capacity;
    std::set<pod_number> may_go(candidates.begin(), candidates.end());
    for (const auto p : on_[n])
      if (!may_go.contains(p) && pods_[p].at != stage::leaving)
        left -= asked(p).asks;
    for (const auto p : nominated_)
      if (p != who && pods_[p].nominated == n && keeps_from(p, who))
        left -= asked(p).asks;
    if (!left.holds(asked(who).asks))
      return std::nullopt;
    left -= asked(who).asks;
    std::ranges::sort(candidates, [&](pod_number a, pod_number b) {
      return std::tuple(-asked(a).priority, pods_[a].since, a)
             < std::tuple(-asked(b).priority, pods_[b].since, b);
    });
    choice made;
    for (const auto p : candidates) {
      if (left.holds(asked(p).asks)) {
        left -= asked(p).asks;
        continue;
      }
      if (made.victims.empty()) {
        made.highest = asked(p).priority;
        made.start_of_highest = pods_[p].since;
      }
      made.sum += asked(p).priority + (std::int64_t{1} << 31);
      made.victims.push_back(p);
    }
    return made;
  }

  std::optional<node_number> first_fit(pod_number who) const {
    if (const auto n = pods_[who].nominated; n && free_for(who, *n).holds(asked(who).asks))
      return n;
    for (node_number n = 0; n < on_.size(); ++n)
      if (free_for(who, n).holds(asked(who).asks))
        return n;
    return std::nullopt;
  }

  /// Whether somebody still leaves for the pod.
  bool is_awaited(pod_number who) const {
    const auto n = pods_[who].nominated;
    return n && std::ranges::any_of(on_[*n], [&](pod_number p) {
             return pods_[p].leaves_for == who;
           });
  }

  void place(pod_number who, node_number n) {
    auto& p = pods_[who];
    nominated_.erase(who);
    p.nominated.reset();
    p.node = n;
    on_[n].insert(who);
    waiting_.erase(order_of(who));
    ++told_.starts;
    enter(who, stage::starting, start_takes);
  }

  void preempt(pod_number who, node_number n, const std::vector<pod_number>& victims) {
    pods_[who].nominated = n;
    nominated_.insert(who);
    for (const auto p : victims) {
      const bool ran = pods_[p].at == stage::running;
      told_.add_stop(asked(p).asks, ran ? now_ - pods_[p].since : milliseconds{0});
      if (ran)
        count_use(p, now_);
      pods_[p].leaves_for = who;
      enter(p, stage::leaving, stop_takes);
    }
  }

  /// By priority, then arrival.
  using order = std::tuple<std::int64_t, pod_number>;
  order order_of(pod_number p) const {
    return {-asked(p).priority, p};
  }

  const replay_plan& plan_;
  std::vector<live_pod> pods_;
  std::vector<std::set<pod_number>> on_; ///< by node
  std::set<order> waiting_;
  std::set<pod_number> nominated_;
  milliseconds now_{0};

private:
  struct event {
    milliseconds when{0};
    pod_number who = 0;
    int turn = 0;

    bool operator>(const event& other) const {
      return std::tuple(when, who, turn) > std::tuple(other.when, other.who, other.turn);
    }
  };

  void at(milliseconds when, pod_number who) {
    events_.push({when, who, pods_[who].turn});
  }

  void enter(pod_number who, stage next, std::optional<milliseconds> lasts) {
    auto& p = pods_[who];
    p.at = next;
    p.since = now_;
    ++p.turn;
    if (lasts)
      at(now_ + *lasts, who);
  }

  void leave_node(pod_number who) {
    auto& p = pods_[who];
    on_[*p.node].erase(who);
    p.node.reset();
    p.leaves_for.reset();
  }

  void count_use(pod_number who, milliseconds until) {
    told_.gpu_seconds_used +=
      static_cast<double>(asked(who).asks.gpu * (until - pods_[who].since).count()) / 1000;
  }

  void step(pod_number who) {
    auto& p = pods_[who];
    switch (p.at) {
    case stage::outside:
      waiting_.insert(order_of(who));
      enter(who, stage::waiting, std::nullopt);
      break;
    case stage::starting:
      enter(who, stage::running, asked(who).runs_for);
      break;
    case stage::running:
      count_use(who, now_);
      leave_node(who);
      enter(who, stage::done, std::nullopt);
      break;
    case stage::leaving:
      leave_node(who);
      // The backoff counts from when it was told to stop.
      enter(who, stage::outside,
            first_backoff * (std::int64_t{1} << std::min(p.preempted, 12)) - stop_takes);
      ++p.preempted;
      break;
    case stage::waiting:
    case stage::done:
      break;
    }
  }

  std::priority_queue<event, std::vector<event>, std::greater<>> events_;
  outcome told_;
};

} // namespace reprieve::trace
