#include "state/view/shape_table.hpp"

#include <algorithm>

namespace reprieve {

namespace {

std::uint64_t hash_of_amounts(std::span<const std::int64_t> amounts) {
  std::uint64_t hash = 0;
  for (const auto amount : amounts)
    hash = mix(hash, static_cast<std::uint64_t>(amount));
  return hash;
}

} // namespace

std::uint32_t shape_table::intern(std::span<const std::int64_t> amounts) {
  const auto hash = hash_of_amounts(amounts);
  auto shape = by_amounts_.find(
    hash, [&](std::uint32_t row) { return std::ranges::equal(this->amounts(row), amounts); });
  if (shape != no_row) {
    ++references_[shape];
    return shape;
  }
  if (spare_.empty()) {
    shape = static_cast<std::uint32_t>(references_.size());
    references_.push_back(1);
    amounts_.insert(amounts_.end(), amounts.begin(), amounts.end());
  } else {
    shape = spare_.back();
    spare_.pop_back();
    references_[shape] = 1;
    std::ranges::copy(amounts, amounts_.begin() + static_cast<std::ptrdiff_t>(shape * width_));
  }
  by_amounts_.insert(hash, shape, [&](std::uint32_t row) { return hash_of_row(row); });
  return shape;
}

void shape_table::release(std::uint32_t shape) {
  if (--references_[shape] > 0)
    return;
  by_amounts_.erase(hash_of_row(shape), shape, [&](std::uint32_t row) { return hash_of_row(row); });
  spare_.push_back(shape);
}

void shape_table::widen(std::span<const std::uint32_t> moved_to, std::size_t width) {
  amounts_ = widened(amounts_, moved_to, references_.size(), width);
  width_ = width;
  by_amounts_.clear();
  const auto hash = [&](std::uint32_t row) { return hash_of_row(row); };
  for (std::uint32_t shape = 0; shape < references_.size(); ++shape)
    if (references_[shape] > 0)
      by_amounts_.insert(hash(shape), shape, hash);
}

std::uint64_t shape_table::hash_of_row(std::uint32_t shape) const {
  return hash_of_amounts(amounts(shape));
}

std::vector<std::int64_t> widened(std::span<const std::int64_t> rows,
                                  std::span<const std::uint32_t> moved_to, std::size_t count,
                                  std::size_t width) {
  std::vector<std::int64_t> wide(count * width);
  for (std::size_t row = 0; row < count; ++row)
    for (std::size_t column = 0; column < moved_to.size(); ++column)
      wide[row * width + moved_to[column]] = rows[row * moved_to.size() + column];
  return wide;
}

} // namespace reprieve
