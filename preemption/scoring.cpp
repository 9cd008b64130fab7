#include "preemption/scoring.hpp"

#include "preemption/amounts.hpp"
#include "preemption/budgets.hpp"
#include "state/quantity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <compare>
#include <limits>

namespace reprieve {

namespace {

/// Work since the last checkpoint, in thousandths of a GPU times seconds, then in GPU-seconds.
std::int64_t work_lost(const cluster_view& view, std::span<const pod_row> pods, time_point now) {
  const auto gpu = view.column_of(resource::gpu);
  if (!gpu)
    return 0;
  wide_int thousandths = 0;
  for (const auto p : pods) {
    const auto safe_until = std::max(view.checkpointed(p), view.started(p));
    if (view.started(p) == no_time || safe_until >= now)
      continue;
    const auto seconds = std::chrono::floor<std::chrono::seconds>(now - safe_until).count();
    thousandths += static_cast<wide_int>(view.requests(p)[*gpu]) * seconds;
  }
  constexpr wide_int most = std::numeric_limits<std::int64_t>::max();
  return static_cast<std::int64_t>(std::min(thousandths / 1000, most));
}

time_point start_of(const cluster_view& view, portion_row p, time_point now) {
  const auto start = view.card(p).earliest_start;
  return start == no_time ? now : start;
}

/// One line of the order: less is better.
struct criterion {
  std::strong_ordering (*compare)(const score&, const score&);
  std::string (*against)(const score& loser, const score& winner);
};

constexpr criterion budget_violations{
  [](const score& a, const score& b) { return a.budget_violations <=> b.budget_violations; },
  [](const score& l, const score& w) {
    return fmt::format("takes {} pods more than budgets allow, not {}", l.budget_violations,
                       w.budget_violations);
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
    return fmt::format("its {} pods that go weigh more by priority than {}", l.pods, w.pods);
  }};
constexpr criterion pods{[](const score& a, const score& b) { return a.pods <=> b.pods; },
                         [](const score& l, const score& w) {
                           return fmt::format("costs {} pods, not {}", l.pods, w.pods);
                         }};
constexpr criterion lost_work{
  [](const score& a, const score& b) { return a.work_lost <=> b.work_lost; },
  [](const score& l, const score& w) {
    return fmt::format("loses {} GPU-seconds of work, not {}", l.work_lost, w.work_lost);
  }};
constexpr criterion latest_start{
  [](const score& a, const score& b) {
    return b.earliest_start_of_most_important <=> a.earliest_start_of_most_important;
  },
  [](const score& l, const score& w) {
    return fmt::format("its most important victim has run since {}, not {}",
                       format_time(l.earliest_start_of_most_important),
                       format_time(w.earliest_start_of_most_important));
  }};

constexpr std::array fewest_pods{
  budget_violations, highest_victim_priority, cascades, priority_sum, pods, lost_work,
  latest_start};
constexpr std::array least_work{
  budget_violations, highest_victim_priority, cascades, lost_work, priority_sum, pods,
  latest_start};

/// The first line of the order that tells the two apart, or none.
const criterion* deciding(const score& a, const score& b, minimise minimised) {
  const auto& order = minimised == minimise::work ? least_work : fewest_pods;
  const auto found =
    std::ranges::find_if(order, [&](const criterion& one) { return one.compare(a, b) != 0; });
  return found == order.end() ? nullptr : &*found;
}

} // namespace

std::vector<evicted_portion> cost_of(const cluster_view& view, std::span<const portion_row> victims,
                                     time_point now) {
  const auto over_budget = pods_over_budget(view, victims);
  std::vector<evicted_portion> evicted;
  evicted.reserve(victims.size());
  for (std::size_t i = 0; i < victims.size(); ++i) {
    auto pods = view.pods_of(victims[i]);
    const auto lost = work_lost(view, pods, now);
    evicted.push_back({victims[i], std::move(pods), over_budget[i], lost});
  }
  return evicted;
}

score score_of(const cluster_view& view, std::span<const evicted_portion> victims, bool cascades,
               time_point now) {
  score total;
  total.cascades = cascades;
  total.highest_victim_priority = std::numeric_limits<std::int32_t>::min();
  total.earliest_start_of_most_important = now;
  if (victims.empty())
    return total;
  total.highest_victim_priority = view.card(victims.front().portion).priority;
  for (const auto& one : victims) {
    const std::int64_t priority = view.card(one.portion).priority;
    const auto count = std::ssize(one.pods);
    total.budget_violations += one.pods_over_budget;
    // Below 2^32 for each of fewer than 2^31 pods: the sum stays within 63 bits.
    total.priority_sum += count * (priority + (std::int64_t{1} << 31));
    total.pods += count;
    if (__builtin_add_overflow(total.work_lost, one.work_lost, &total.work_lost))
      total.work_lost = std::numeric_limits<std::int64_t>::max();
    if (priority == total.highest_victim_priority)
      total.earliest_start_of_most_important =
        std::min(total.earliest_start_of_most_important, start_of(view, one.portion, now));
  }
  return total;
}

bool better(const score& a, const score& b, minimise minimised) {
  const auto* first = deciding(a, b, minimised);
  return first != nullptr && first->compare(a, b) < 0;
}

std::string why_worse(const score& loser, const score& winner, minimise minimised) {
  const auto* first = deciding(loser, winner, minimised);
  return first == nullptr ? std::string{} : first->against(loser, winner);
}

} // namespace reprieve
