#include "preemption/problem/apportion.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>

namespace reprieve {

std::int64_t narrowed(wide_int amount) {
  constexpr wide_int least = std::numeric_limits<std::int64_t>::min();
  constexpr wide_int most = std::numeric_limits<std::int64_t>::max();
  return static_cast<std::int64_t>(std::clamp(amount, least, most));
}

std::vector<std::int64_t> apportion(wide_int total, std::span<const std::int64_t> parts) {
  std::vector<std::int64_t> shares(parts.size());
  const auto sum = std::accumulate(parts.begin(), parts.end(), wide_int{0});
  if (total <= 0 || sum == 0)
    return shares;
  std::vector<wide_int> remainders(parts.size());
  auto left = total;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto product = total * parts[i];
    shares[i] = narrowed(product / sum);
    remainders[i] = product % sum;
    left -= shares[i];
  }
  std::vector<std::size_t> order(parts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(
    order, [&](std::size_t a, std::size_t b) { return remainders[a] > remainders[b]; });
  // What is left is the sum of all fractions: less than there are remainders above zero.
  for (const auto i : order) {
    if (left == 0)
      break;
    ++shares[i];
    --left;
  }
  return shares;
}

std::vector<std::int64_t> apportion_upwards(wide_int total, std::span<const std::int64_t> parts) {
  std::vector<std::int64_t> shares(parts.size());
  const auto sum = std::accumulate(parts.begin(), parts.end(), wide_int{0});
  if (total <= 0 || sum == 0)
    return shares;
  for (std::size_t i = 0; i < parts.size(); ++i)
    shares[i] = narrowed((total * parts[i] + sum - 1) / sum);
  return shares;
}

} // namespace reprieve
