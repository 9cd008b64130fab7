#include "state/store/store_history.hpp"

#include <algorithm>

namespace reprieve {

duration store_history::interval() const {
  return std::clamp<duration>(kept_ / 10, std::chrono::milliseconds{200}, std::chrono::minutes{1});
}

std::optional<revision> store_history::saw(time_point now, revision current) {
  seen_.emplace_back(now, current);
  // The newest of those that are old enough stays, to be compared with.
  while (seen_.size() > 1 && now - seen_[1].first >= kept_)
    seen_.pop_front();
  const auto& [when, before] = seen_.front();
  if (now - when < kept_ || before <= compacted_)
    return std::nullopt;
  compacted_ = before;
  return before;
}

} // namespace reprieve
