#pragma once

#include "state/view/node_blocks.hpp"
#include "state/view/portion_card.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace reprieve {

/// The latest instants among those added, latest first.
template <class Instant>
class latest_few {
public:
  void add(Instant instant) {
    auto at = count_ < instants_.size() ? count_++ : instants_.size();
    if (at == instants_.size() && instant <= instants_[--at])
      return;
    for (; at > 0 && instants_[at - 1] < instant; --at)
      instants_[at] = instants_[at - 1];
    instants_[at] = instant;
  }

  std::size_t size() const {
    return count_;
  }
  bool full() const {
    return count_ == instants_.size();
  }
  Instant operator[](std::size_t at) const {
    return instants_[at];
  }

private:
  std::array<Instant, 8> instants_{};
  std::size_t count_ = 0;
};

/// A start that is not known may be any.
inline time_point start_at_latest(const portion_card& card) {
  return card.earliest_start == no_time ? time_point::max() : card.earliest_start;
}

/// Counts a node whose portions of the step started then, and that has so many of lower steps.
inline void raise_starts(block_step& step, const latest_few<time_point>& starts,
                         std::size_t below) {
  for (std::size_t k = 0; k < step.latest_starts.size(); ++k)
    if (const auto at_least = k < below ? 0 : k - below; at_least < starts.size())
      step.latest_starts[k] = std::max(step.latest_starts[k], starts[at_least]);
}

} // namespace reprieve
