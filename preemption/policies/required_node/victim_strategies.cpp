#include "preemption/policies/required_node/victim_strategies.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <utility>

namespace reprieve {

namespace {

using positions = std::vector<std::size_t>;

bool frees_enough(const possible_victim& one, const wanted_room& wanted) {
  return std::ranges::equal(wanted.missing, one.held, std::less_equal{});
}

bool within(const fraction& deviation, std::int32_t percent) {
  return static_cast<wide_int>(deviation.part) * 100
         <= static_cast<wide_int>(deviation.of) * percent;
}

/// All positions, the largest of each class first; equal ones stay in their order.
positions largest_first(std::span<const possible_victim> victims) {
  positions order(victims.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    return victims[a].rank != victims[b].rank ? victims[a].rank < victims[b].rank
                                              : victims[a].size > victims[b].size;
  });
  return order;
}

/// What is freed beyond what is missing, by column; below zero where it is not enough.
class balance {
public:
  explicit balance(const wanted_room& wanted) {
    for (const auto amount : wanted.missing)
      left_.push_back(-static_cast<wide_int>(amount));
  }

  bool settled() const {
    return std::ranges::all_of(left_, [](wide_int amount) { return amount >= 0; });
  }
  /// Whether it would free something that is still missing.
  bool helped_by(const possible_victim& one) const {
    for (std::size_t c = 0; c < left_.size(); ++c)
      if (left_[c] < 0 && one.held[c] > 0)
        return true;
    return false;
  }
  void add(const possible_victim& one) {
    for (std::size_t c = 0; c < left_.size(); ++c)
      left_[c] += one.held[c];
  }
  /// Takes it out again if the others are enough without it.
  bool spare(const possible_victim& one) {
    for (std::size_t c = 0; c < left_.size(); ++c)
      if (left_[c] < one.held[c])
        return false;
    for (std::size_t c = 0; c < left_.size(); ++c)
      left_[c] -= one.held[c];
    return true;
  }

private:
  std::vector<wide_int> left_;
};

} // namespace

fraction deviation_of(const cluster_view& view, amounts held, amounts request) {
  const auto places = view.column_of(resource::pods);
  fraction farthest;
  for (resource_column c = 0; c < request.size(); ++c)
    if (c != places && request[c] > 0)
      farthest =
        std::max(farthest, fraction{std::max(held[c], request[c]) - std::min(held[c], request[c]),
                                    request[c]});
  return farthest;
}

selection pick_single(const cluster_view& view, std::span<const possible_victim> victims,
                      const wanted_room& wanted, std::int32_t deviation_percent) {
  struct find {
    std::size_t at;
    fraction deviation;
  };
  std::optional<find> best;
  std::optional<find> closest;
  for (std::size_t at = 0; at < victims.size(); ++at) {
    const auto& one = victims[at];
    if (!frees_enough(one, wanted))
      continue;
    const auto deviation = deviation_of(view, one.held, wanted.request);
    if (!closest || deviation < closest->deviation)
      closest = {at, deviation};
    if (within(deviation, deviation_percent)
        && (!best || (one.rank == victims[best->at].rank && deviation < best->deviation)))
      best = {at, deviation};
  }
  selection made;
  if (best)
    made.picked = {best->at};
  else if (closest)
    made.closest = closest->at;
  if (!best)
    made.failed = closest ? selection::failure::too_far : selection::failure::too_little;
  return made;
}

selection pick_multiple(std::span<const possible_victim> victims, const wanted_room& wanted,
                        std::int64_t most) {
  balance freed{wanted};
  positions taken;
  for (const auto at : largest_first(victims))
    if (freed.helped_by(victims[at])) {
      freed.add(victims[at]);
      taken.push_back(at);
    }
  selection made;
  if (!freed.settled()) {
    made.failed = selection::failure::too_little;
    return made;
  }
  std::ranges::sort(taken, std::greater{});
  std::erase_if(taken, [&](std::size_t at) { return freed.spare(victims[at]); });
  if (std::ssize(taken) > most) {
    made.failed = selection::failure::too_many;
    made.needed = taken.size();
    return made;
  }
  made.picked = std::move(taken);
  return made;
}

} // namespace reprieve
