#include "preemption/evaluation/score_bounds.hpp"

#include "preemption/pipeline/scoring.hpp"
#include "preemption/problem/amounts.hpp"
#include "state/view/latest_few.hpp"
#include "state/view/node_portions.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <vector>

namespace reprieve {

namespace {

/// What is known of some portions, of which enough have to go.
struct offered {
  std::int32_t highest = 0; ///< priority that one victim has at least
  std::int32_t lowest = 0;  ///< likewise all others
  std::int64_t least_pods = 1;
  std::int64_t least_gpu = 0;
  time_point latest_start = no_time;
  bool only_groups = true; ///< those of the highest priority
};

/// How many portions have to go at least to make up for what is lacking, when none holds more here.
std::int64_t fewest(std::int64_t lacking, std::int64_t largest) {
  return largest <= 0 ? 1 : (lacking - 1) / largest + 1;
}

std::int64_t fewest(amounts request, amounts room, amounts largest) {
  std::int64_t most = 1;
  for (std::size_t c = 0; c < request.size(); ++c)
    if (request[c] > 0 && request[c] > room[c])
      most = std::max(most, fewest(request[c] - room[c], largest[c]));
  return most;
}

/// GPU-seconds that are lost at least by so many portions whose work is safe up to these seconds,
/// as a sum.
std::int64_t least_work(std::int64_t portions, std::int64_t gpu, std::int64_t safe_until,
                        time_point now) {
  const auto second = std::chrono::floor<std::chrono::seconds>(now).time_since_epoch().count();
  const auto lost = static_cast<wide_int>(second) * portions - safe_until;
  if (lost <= 0)
    return 0;
  // The loss of each portion is rounded down by itself.
  constexpr wide_int most = std::numeric_limits<std::int64_t>::max();
  const auto work = lost * gpu / 1000 - portions;
  return work < 0 ? 0 : static_cast<std::int64_t>(std::min(work, most));
}

score bound_of(const offered& some, std::int64_t portions, std::int64_t work, time_point now) {
  const auto weight = [&](std::int32_t priority) {
    return some.least_pods * priority_weight({.priority = priority, .pods = 1});
  };
  score least = score_of_nobody(now);
  least.highest_victim_priority = some.highest;
  least.pods = portions * some.least_pods;
  least.priority_sum = weight(some.highest) + (portions - 1) * weight(some.lowest);
  least.work_lost = work;
  least.earliest_start_of_most_important = std::min(some.latest_start, now);
  least.most_important = {some.only_groups, some.least_pods,
                          least.earliest_start_of_most_important};
  return least;
}

/// The latest that all of so many of those who started then can have started; at least one goes.
time_point latest_to_go(std::vector<time_point>& starts, std::int64_t going) {
  const auto last = std::clamp<std::int64_t>(going - 1, 0, std::ssize(starts) - 1);
  std::ranges::nth_element(starts, starts.begin() + last, std::greater{});
  return starts[static_cast<std::size_t>(last)];
}

/// Of the node whose step `s` is the lowest that is enough.
score bound_at_step(const problem& given, node_row n, std::size_t s) {
  const auto& view = given.view;
  const auto& request = given.asked.groups.front().request;
  const auto gpu = view.gpu_column();
  const auto room = view.promised(n);
  offered some{view.steps(n)[s].priority,
               view.steps(n).back().priority,
               std::numeric_limits<std::uint32_t>::max(),
               std::numeric_limits<std::int64_t>::max(),
               no_time,
               true};
  std::vector<std::int64_t> largest(view.width());
  std::vector<std::int64_t> safe_until;
  std::vector<time_point> starts; ///< of those of the highest priority
  std::int64_t below = 0;         ///< portions of lower ones
  each_portion_on(view, view.pods_on(n).subspan(view.steps(n)[s].first),
                  [&](portion_row portion, amounts holds) {
                    for (std::size_t c = 0; c < holds.size(); ++c)
                      largest[c] = std::max(largest[c], holds[c]);
                    const auto card = view.card(portion);
                    some.least_pods = std::min(some.least_pods, std::int64_t{card.pods});
                    if (card.priority == some.highest) {
                      some.only_groups = some.only_groups && card.group;
                      starts.push_back(start_at_latest(card));
                    } else {
                      ++below;
                    }
                    if (gpu && holds[*gpu] > 0) {
                      const auto work = view.work_of(portion);
                      some.least_gpu = std::min(some.least_gpu, work.gpu);
                      safe_until.push_back(work.safe_until);
                    }
                  });
  std::int64_t work = 0;
  if (gpu && request[*gpu] > room[*gpu]) {
    const auto holders = std::min<std::int64_t>(fewest(request[*gpu] - room[*gpu], largest[*gpu]),
                                                std::ssize(safe_until));
    const auto last = safe_until.begin() + holders;
    std::ranges::nth_element(safe_until, last, std::greater{});
    work =
      least_work(holders, some.least_gpu,
                 std::accumulate(safe_until.begin(), last, std::int64_t{0}), given.settings.now);
  }
  const auto portions = fewest(request, room, largest);
  some.latest_start = latest_to_go(starts, portions - below);
  return bound_of(some, portions, work, given.settings.now);
}

} // namespace

score floor_on_node(const problem& given, node_row n, const score& found) {
  const auto& view = given.view;
  const auto& request = given.asked.groups.front().request;
  const auto room = view.promised(n);
  const auto now = given.settings.now;
  struct holder {
    portion_card card;
    std::int64_t work = 0;
    std::vector<std::int64_t> holds;
  };
  std::vector<holder> holders;
  each_portion_on(view, view.pods_on(n), [&](portion_row portion, amounts holds) {
    if (const auto card = view.card(portion); card.priority <= found.highest_victim_priority)
      holders.push_back({card, work_lost(view, portion, now), {holds.begin(), holds.end()}});
  });
  // Of each resource that is short, so many of those who hold any have to go.
  score least = found;
  least.cascades = false;
  least.budget_violations = 0;
  least.most_important = {true, found.most_important.pods, now};
  std::vector<time_point> starts; ///< of those of the highest priority
  std::int64_t most_of_highest = 0;
  for (const auto& [card, work, holds] : holders)
    if (card.priority == found.highest_victim_priority) {
      least.most_important.group = least.most_important.group && card.group;
      least.most_important.pods = std::min(least.most_important.pods, std::int64_t{card.pods});
      starts.push_back(start_at_latest(card));
    }
  least.priority_sum = least.pods = least.work_lost = 0;
  for (std::size_t c = 0; c < request.size(); ++c) {
    if (request[c] == 0 || request[c] <= room[c])
      continue;
    std::int64_t largest = 0;
    std::vector<std::int64_t> works;
    std::vector<std::int64_t> weights;
    std::vector<std::int64_t> counts;
    std::int64_t below = 0;
    for (const auto& one : holders)
      if (one.holds[c] > 0) {
        below += one.card.priority < found.highest_victim_priority ? 1 : 0;
        largest = std::max(largest, one.holds[c]);
        works.push_back(one.work);
        weights.push_back(priority_weight(one.card));
        counts.push_back(one.card.pods);
      }
    const auto going =
      std::min<std::int64_t>(fewest(request[c] - room[c], largest), std::ssize(works));
    most_of_highest = std::max(most_of_highest, going - below);
    const auto least_of = [&](std::vector<std::int64_t>& some) {
      std::ranges::nth_element(some, some.begin() + going);
      return std::accumulate(some.begin(), some.begin() + going, std::int64_t{0});
    };
    least.work_lost = std::max(least.work_lost, least_of(works));
    least.priority_sum = std::max(least.priority_sum, least_of(weights));
    least.pods = std::max(least.pods, least_of(counts));
  }
  if (!starts.empty())
    least.most_important.start = least.earliest_start_of_most_important =
      std::min(latest_to_go(starts, most_of_highest), now);
  return least;
}

score lasting(score bound, time_point now) {
  for (auto* start : {&bound.earliest_start_of_most_important, &bound.most_important.start})
    if (*start >= now)
      *start = time_point::max();
  return bound;
}

std::optional<score> bound_on_node(const problem& given, node_row n) {
  const auto& view = given.view;
  const auto& request = given.asked.groups.front().request;
  const auto promised = view.promised(n);
  if (covers(promised, request))
    return best_score();
  const auto steps = view.steps(n);
  const auto fits_without = [&](amounts held) {
    for (std::size_t c = 0; c < request.size(); ++c)
      if (request[c] > 0 && request[c] > promised[c] + held[c])
        return false;
    return true;
  };
  for (auto s = steps.size(); s-- > 0 && steps[s].priority <= given.highest_level();) {
    if (!fits_without(view.held_from(n, s)))
      continue;
    return bound_at_step(given, n, s);
  }
  return std::nullopt;
}

std::optional<score> bound_on_block(const problem& given, const node_block& block) {
  const auto width = given.view.width();
  const auto& request = given.asked.groups.front().request;
  const auto now = given.settings.now;
  const auto gpu = given.view.gpu_column();
  const auto room = block.amounts_at(node_block::most_promised, width);
  // None of its nodes takes pods any more, which other bounds may not show yet.
  if (!room.empty() && room.front() == std::numeric_limits<std::int64_t>::min())
    return std::nullopt;
  for (auto s = block.steps.size(); s-- > 0 && block.steps[s].lowest <= given.highest_level();) {
    if (!covers(block.amounts_at(node_block::most_room(s), width), request))
      continue;
    const auto& step = block.steps[s];
    const auto largest = block.amounts_at(node_block::largest_portion(s), width);
    const auto portions = fewest(request, room, largest);
    const auto most_told = std::ssize(step.latest_starts);
    const offered some{
      step.lowest,
      block.steps.back().lowest,
      step.least_pods,
      step.least_gpu,
      step.latest_starts[static_cast<std::size_t>(std::min(portions, most_told) - 1)],
      step.only_groups};
    std::int64_t work = 0;
    if (gpu && request[*gpu] > room[*gpu]) {
      const auto holders = std::min<std::int64_t>(fewest(request[*gpu] - room[*gpu], largest[*gpu]),
                                                  std::ssize(step.safe_until));
      if (const auto safe = step.safe_until[static_cast<std::size_t>(holders - 1)];
          safe != std::numeric_limits<std::int64_t>::min())
        work = least_work(holders, step.least_gpu, safe, now);
    }
    return bound_of(some, portions, work, now);
  }
  return std::nullopt;
}

} // namespace reprieve
