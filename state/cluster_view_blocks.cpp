#include "state/cluster_view.hpp"

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

/// The latest instants among those added, latest first.
class latest_few {
public:
  void add(std::int64_t instant) {
    auto at = count_ < instants_.size() ? count_++ : instants_.size();
    if (at == instants_.size() && instant <= instants_[--at])
      return;
    for (; at > 0 && instants_[at - 1] < instant; --at)
      instants_[at] = instants_[at - 1];
    instants_[at] = instant;
  }

  void raise(std::array<std::int64_t, 8>& sums) const {
    std::int64_t sum = 0;
    for (std::size_t k = 0; k < count_; ++k)
      sums[k] = std::max(sums[k], sum += instants_[k]);
  }

private:
  std::array<std::int64_t, 8> instants_{};
  std::size_t count_ = 0;
};

} // namespace

/// Each pod of the block is looked at once; a change of one node costs a look at all in its block.
void cluster_view::describe(node_block& block) const {
  const auto gpu = gpu_column();
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
  const auto row = [&](std::size_t at) { return block.amounts_at(at, width()); };
  std::vector<std::int64_t> room(width());
  std::vector<std::int64_t> together(width()); // what a portion holds on one node
  for (const auto n : block.nodes) {
    if (!usable(n))
      continue;
    raise_to(row(node_block::most_free), free(n));
    raise_to(row(node_block::most_promised), promised(n));
    const auto& record = nodes_[n];
    latest_few safe;
    auto at = record.evictable; // the first pod that the steps so far have taken
    for (auto s = block.steps.size(); s-- > 0;) {
      auto& step = block.steps[s];
      const auto opened = std::ranges::partition_point(
        record.steps, [&](const priority_step& mine) { return mine.priority > step.highest; });
      std::ranges::copy(promised(n), room.begin());
      if (opened != record.steps.end()) {
        const auto held = held_from(n, static_cast<std::size_t>(opened - record.steps.begin()));
        for (std::size_t column = 0; column < width(); ++column)
          room[column] += held[column];
        while (at > opened->first) {
          // Pods of one portion are neighbours.
          const auto portion = portion_of(record.pods[at - 1]);
          std::ranges::fill(together, 0);
          for (; at > opened->first && portion_of(record.pods[at - 1]) == portion; --at)
            for (std::size_t column = 0; column < width(); ++column)
              together[column] += requests(record.pods[at - 1])[column];
          const auto described = card(portion);
          step.latest_start = std::max(step.latest_start, described.earliest_start == no_time
                                                            ? time_point::max()
                                                            : described.earliest_start);
          step.least_pods = std::min(step.least_pods, described.pods);
          raise_to(row(node_block::largest_portion(s)), together);
          if (gpu && together[*gpu] > 0) {
            const auto work = work_of(portion);
            step.least_gpu = std::min(step.least_gpu, work.gpu);
            safe.add(work.safe_until);
          }
        }
      }
      raise_to(row(node_block::most_room(s)), room);
      safe.raise(step.safe_until);
    }
  }
  for (auto s = block.steps.size(); s-- > 1;) {
    raise_to(row(node_block::largest_portion(s - 1)), row(node_block::largest_portion(s)));
    block.steps[s - 1].least_gpu = std::min(block.steps[s - 1].least_gpu, block.steps[s].least_gpu);
    block.steps[s - 1].least_pods =
      std::min(block.steps[s - 1].least_pods, block.steps[s].least_pods);
  }
}

} // namespace reprieve
