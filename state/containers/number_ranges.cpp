#include "state/containers/number_ranges.hpp"

#include <algorithm>
#include <iterator>

namespace reprieve {

number_ranges::number_ranges(number below) {
  if (below <= 0)
    return;
  ranges_.emplace(0, below);
  size_ = below;
}

/// The range that has the number; the end where none has.
number_ranges::range number_ranges::range_of(number one) const {
  const auto behind = ranges_.upper_bound(one);
  if (behind == ranges_.begin())
    return ranges_.end();
  const auto found = std::prev(behind);
  return one < found->second ? found : ranges_.end();
}

bool number_ranges::contains(number one) const {
  return range_of(one) != ranges_.end();
}

bool number_ranges::insert(number one) {
  if (contains(one))
    return false;
  ++size_;
  auto behind = one + 1;
  if (const auto next = ranges_.find(behind); next != ranges_.end()) {
    behind = next->second;
    ranges_.erase(next);
  }
  const auto next = ranges_.upper_bound(one);
  if (next != ranges_.begin() && std::prev(next)->second == one)
    std::prev(next)->second = behind;
  else
    ranges_.emplace_hint(next, one, behind);
  return true;
}

bool number_ranges::erase(number one) {
  const auto found = range_of(one);
  if (found == ranges_.end())
    return false;
  --size_;
  const auto [first, behind] = *found;
  ranges_.erase(found);
  if (first < one)
    ranges_.emplace(first, one);
  if (one + 1 < behind)
    ranges_.emplace(one + 1, behind);
  return true;
}

std::optional<number_ranges::number> number_ranges::first_from(number from) const {
  if (contains(from))
    return from;
  const auto next = ranges_.lower_bound(from);
  return next == ranges_.end() ? std::nullopt : std::optional{next->first};
}

std::optional<number_ranges::number> number_ranges::last_before(number to) const {
  const auto behind = ranges_.lower_bound(to);
  if (behind == ranges_.begin())
    return std::nullopt;
  return std::min(to, std::prev(behind)->second) - 1;
}

} // namespace reprieve
