#include "preemption/pipeline/scoring.hpp"

#include "preemption/pipeline/budgets.hpp"
#include "preemption/problem/amounts.hpp"
#include "state/quantities/quantity.hpp"
#include "state/text/counted.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <compare>
#include <limits>

namespace reprieve {

namespace {

std::string to_text(const importance& of) {
  return of.group ? "a group of " + counted(of.pods, "pod") : std::string("a single pod");
}

/// One line of the order: less is better.
struct criterion {
  std::strong_ordering (*compare)(const score&, const score&);
  std::string (*against)(const score& loser, const score& winner);
};

constexpr criterion budget_violations{
  [](const score& a, const score& b) { return a.budget_violations <=> b.budget_violations; },
  [](const score& l, const score& w) {
    return fmt::format("takes {} more than budgets allow, not {}",
                       counted(l.budget_violations, "pod"), w.budget_violations);
  }};
constexpr criterion highest_victim_priority{
  [](const score& a, const score& b) {
    return a.highest_victim_priority <=> b.highest_victim_priority;
  },
  [](const score& l, const score& w) {
    return fmt::format("costs a victim of priority {}, not {}", l.highest_victim_priority,
                       w.highest_victim_priority);
  }};
constexpr criterion cascades{
  [](const score& a, const score& b) { return a.cascades <=> b.cascades; },
  [](const score&, const score&) {
    return std::string{"a victim would have to preempt others to run again"};
  }};
constexpr criterion priority_sum{
  [](const score& a, const score& b) { return a.priority_sum <=> b.priority_sum; },
  [](const score& l, const score& w) {
    return l.pods == 1
             ? fmt::format("its pod that goes weighs more by priority than {}", w.pods)
             : fmt::format("its {} pods that go weigh more by priority than {}", l.pods, w.pods);
  }};
constexpr criterion pods{[](const score& a, const score& b) { return a.pods <=> b.pods; },
                         [](const score& l, const score& w) {
                           return fmt::format("costs {}, not {}", counted(l.pods, "pod"), w.pods);
                         }};
constexpr criterion most_important{
  [](const score& a, const score& b) {
    auto order = a.most_important.group <=> b.most_important.group;
    if (order == 0)
      order = a.most_important.pods <=> b.most_important.pods;
    return order != 0 ? order : b.most_important.start <=> a.most_important.start;
  },
  [](const score& l, const score& w) {
    const bool look_the_same = l.most_important.group == w.most_important.group
                               && l.most_important.pods == w.most_important.pods;
    return look_the_same
             ? fmt::format("its most important victim has run since {}, not {}",
                           format_time(l.most_important.start), format_time(w.most_important.start))
             : fmt::format("its most important victim is {}, not {}", to_text(l.most_important),
                           to_text(w.most_important));
  }};
constexpr criterion lost_work{
  [](const score& a, const score& b) { return a.work_lost <=> b.work_lost; },
  [](const score& l, const score& w) {
    return fmt::format("loses {} of work, not {}", counted(l.work_lost, "GPU-second"), w.work_lost);
  }};
constexpr criterion latest_start{
  [](const score& a, const score& b) {
    return b.earliest_start_of_most_important <=> a.earliest_start_of_most_important;
  },
  [](const score& l, const score& w) {
    return fmt::format("one of its most important victims has run since {}, not {}",
                       format_time(l.earliest_start_of_most_important),
                       format_time(w.earliest_start_of_most_important));
  }};

constexpr std::array fewest_pods{budget_violations,
                                 highest_victim_priority,
                                 cascades,
                                 priority_sum,
                                 pods,
                                 most_important,
                                 lost_work,
                                 latest_start};
constexpr std::array least_work{budget_violations, highest_victim_priority,
                                cascades,          lost_work,
                                priority_sum,      pods,
                                most_important,    latest_start};

/// The first line of the order that tells the two apart, or none.
const criterion* deciding(const score& a, const score& b, minimise minimised) {
  const auto& order = minimised == minimise::work ? least_work : fewest_pods;
  const auto found =
    std::ranges::find_if(order, [&](const criterion& one) { return one.compare(a, b) != 0; });
  return found == order.end() ? nullptr : &*found;
}

} // namespace

std::int64_t work_lost(const cluster_view& view, portion_row p, time_point now) {
  const auto gpu = view.gpu_column();
  if (!gpu)
    return 0;
  wide_int thousandths = 0; // of a GPU, times seconds
  for (const auto one : view.pods_of(p)) {
    const auto safe_until = std::max(view.checkpointed(one), view.started(one));
    if (view.started(one) == no_time || safe_until >= now)
      continue;
    const auto seconds = std::chrono::floor<std::chrono::seconds>(now - safe_until).count();
    thousandths += static_cast<wide_int>(view.requests(one)[*gpu]) * seconds;
  }
  constexpr wide_int most = std::numeric_limits<std::int64_t>::max();
  return static_cast<std::int64_t>(std::min(thousandths / 1000, most));
}

std::vector<evicted_portion> cost_of(const cluster_view& view, std::span<const portion_row> victims,
                                     time_point now) {
  const auto over_budget = pods_over_budget(view, victims);
  std::vector<evicted_portion> evicted;
  evicted.reserve(victims.size());
  for (std::size_t i = 0; i < victims.size(); ++i) {
    const auto found = view.pods_of(victims[i]);
    std::vector<pod_row> pods{found.begin(), found.end()};
    evicted.push_back(
      {victims[i], std::move(pods), over_budget[i], work_lost(view, victims[i], now)});
  }
  return evicted;
}

score score_of_nobody(time_point now) {
  score total;
  total.highest_victim_priority = std::numeric_limits<std::int32_t>::min();
  total.earliest_start_of_most_important = total.most_important.start = now;
  return total;
}

score best_score() {
  return score_of_nobody(time_point::max());
}

void add_to(score& total, const portion_card& card, std::int64_t pods_over_budget,
            std::int64_t work_lost, time_point now) {
  // A start that is not known, or lies in the future by another clock, counts as now.
  const auto start = card.earliest_start == no_time ? now : std::min(card.earliest_start, now);
  if (total.pods == 0) {
    total.highest_victim_priority = card.priority;
    total.most_important = {card.group, card.pods, start};
  }
  if (card.priority == total.highest_victim_priority)
    total.earliest_start_of_most_important =
      std::min(total.earliest_start_of_most_important, start);
  total.budget_violations += pods_over_budget;
  total.priority_sum += priority_weight(card);
  total.pods += card.pods;
  if (__builtin_add_overflow(total.work_lost, work_lost, &total.work_lost))
    total.work_lost = std::numeric_limits<std::int64_t>::max();
}

score score_of(const cluster_view& view, std::span<const evicted_portion> victims, bool cascades,
               time_point now) {
  auto total = score_of_nobody(now);
  total.cascades = cascades;
  for (const auto& one : victims)
    add_to(total, view.card(one.portion), one.pods_over_budget, one.work_lost, now);
  return total;
}

bool better(const score& a, const score& b, minimise minimised) {
  const auto* first = deciding(a, b, minimised);
  return first != nullptr && first->compare(a, b) < 0;
}

bool cheaper(const score& a, const score& b, minimise minimised) {
  const auto& order = minimised == minimise::work ? least_work : fewest_pods;
  for (const auto& one : order) {
    if (one.compare == most_important.compare)
      return false;
    if (const auto compared = one.compare(a, b); compared != 0)
      return compared < 0;
  }
  return false;
}

std::string why_worse(const score& loser, const score& winner, minimise minimised) {
  const auto* first = deciding(loser, winner, minimised);
  return first == nullptr ? std::string{} : first->against(loser, winner);
}

} // namespace reprieve
