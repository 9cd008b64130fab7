#include "state/view/cluster_view.hpp"
#include "state/view/latest_few.hpp"
#include "state/view/node_portions.hpp"

#include <algorithm>
#include <functional>
#include <limits>

namespace reprieve {

namespace {

void raise_to(std::span<std::int64_t> most, std::span<const std::int64_t> amounts) {
  for (std::size_t column = 0; column < most.size(); ++column)
    most[column] = std::max(most[column], amounts[column]);
}

/// Steps for the priorities, which are highest first: one for each, or an equal part of them.
std::vector<block_step> steps_for(std::span<const std::int32_t> priorities) {
  const auto count = std::min(priorities.size(), node_blocks::most_steps);
  std::vector<block_step> steps(count);
  for (std::size_t s = 0; s < count; ++s) {
    steps[s].highest = priorities[s * priorities.size() / count];
    steps[s].lowest = priorities[(s + 1) * priorities.size() / count - 1];
    steps[s].least_pods = std::numeric_limits<std::uint32_t>::max();
    steps[s].least_gpu = std::numeric_limits<std::int64_t>::max();
    steps[s].safe_until.fill(std::numeric_limits<std::int64_t>::min());
  }
  return steps;
}

void raise_sums(std::array<std::int64_t, 8>& sums, const latest_few<std::int64_t>& of) {
  std::int64_t sum = 0;
  for (std::size_t k = 0; k < of.size(); ++k)
    sums[k] = std::max(sums[k], sum += of[k]);
}

} // namespace

void cluster_view::describe(node_block& block) const {
  std::vector<std::int32_t> priorities;
  for (const auto n : block.nodes)
    if (usable(n))
      for (const auto& step : nodes_[n].steps)
        priorities.push_back(step.priority);
  std::ranges::sort(priorities, std::greater{});
  priorities.erase(std::ranges::unique(priorities).begin(), priorities.end());

  block.steps = steps_for(priorities);
  block.amounts.assign((node_block::rows_before_steps + 2 * block.steps.size()) * width(),
                       std::numeric_limits<std::int64_t>::min());
  for (const auto n : block.nodes)
    raise_bounds(block, n);
  sum_up_room(block);
}

/// Room is what everybody asks for first: it is always exact.
void cluster_view::sum_up_room(node_block& block) const {
  if (block.amounts.size() < node_block::rows_before_steps * width())
    return; // it is to be described anyway
  const auto most_free = block.amounts_at(node_block::most_free, width());
  const auto most_promised = block.amounts_at(node_block::most_promised, width());
  std::ranges::fill(most_free, std::numeric_limits<std::int64_t>::min());
  std::ranges::fill(most_promised, std::numeric_limits<std::int64_t>::min());
  for (const auto n : block.nodes)
    if (usable(n)) {
      raise_to(most_free, free(n));
      raise_to(most_promised, promised(n));
    }
}

/// A step's bounds hold for all steps below it as well, whose pods go before its own.
bool cluster_view::raise_bounds(node_block& block, node_row n) const {
  if (block.amounts.size() != (node_block::rows_before_steps + 2 * block.steps.size()) * width())
    return false; // a resource is new
  if (!usable(n))
    return true;
  const auto& record = nodes_[n];
  for (const auto& mine : record.steps) {
    const auto at = std::ranges::partition_point(
      block.steps, [&](const block_step& step) { return step.lowest > mine.priority; });
    if (at == block.steps.end() || at->highest < mine.priority)
      return false;
  }

  const auto gpu = gpu_column();
  const auto row = [&](std::size_t at) { return block.amounts_at(at, width()); };
  std::vector<std::int64_t> room(width());
  std::vector<std::int64_t> largest(width());
  auto least_pods = std::numeric_limits<std::uint32_t>::max();
  auto least_gpu = std::numeric_limits<std::int64_t>::max();
  latest_few<std::int64_t> safe;
  std::size_t below = 0;                      ///< portions of lower steps
  auto taken = std::size_t{record.evictable}; // the first pod that the steps so far have taken
  for (auto s = block.steps.size(); s-- > 0;) {
    auto& step = block.steps[s];
    const auto opened = std::ranges::partition_point(
      record.steps, [&](const priority_step& mine) { return mine.priority > step.highest; });
    std::ranges::copy(promised(n), room.begin());
    if (opened != record.steps.end()) {
      const auto held = held_from(n, static_cast<std::size_t>(opened - record.steps.begin()));
      for (std::size_t column = 0; column < width(); ++column)
        room[column] += held[column];
      const auto going = pods_on(n).subspan(opened->first, taken - opened->first);
      taken = opened->first;
      latest_few<time_point> starts;
      std::size_t portions = 0;
      each_portion_on(*this, going, [&](portion_row portion, std::span<const std::int64_t> holds) {
        const auto described = card(portion);
        ++portions;
        starts.add(start_at_latest(described));
        step.only_groups = step.only_groups && described.group;
        least_pods = std::min(least_pods, described.pods);
        raise_to(largest, holds);
        if (gpu && holds[*gpu] > 0) {
          const auto work = work_of(portion);
          least_gpu = std::min(least_gpu, work.gpu);
          safe.add(work.safe_until);
        }
      });
      raise_starts(step, starts, below);
      below += portions;
    }
    raise_to(row(node_block::most_room(s)), room);
    raise_to(row(node_block::largest_portion(s)), largest);
    step.least_pods = std::min(step.least_pods, least_pods);
    step.least_gpu = std::min(step.least_gpu, least_gpu);
    raise_sums(step.safe_until, safe);
  }
  return true;
}

} // namespace reprieve
