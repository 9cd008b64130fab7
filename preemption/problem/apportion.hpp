#pragma once

#include "preemption/problem/amounts.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace reprieve {

/// The nearest number of 64 bits.
std::int64_t narrowed(wide_int amount);

/// Divides `total` into whole numbers in proportion to `parts`. Each gets the whole of its share;
/// what is left goes one by one to the largest remainders, of equal ones to the earlier, so that
/// callers who keep to the order of names have ties broken by name. Where all parts are zero,
/// nobody gets anything; where the total is at most their sum, nobody gets more than its part.
///
/// Parts are not negative, nor is the total, which is below 2^64.
std::vector<std::int64_t> apportion(wide_int total, std::span<const std::int64_t> parts);

/// Likewise, each share rounded up: together they may be more than the total, and no share is less
/// of a larger total.
std::vector<std::int64_t> apportion_upwards(wide_int total, std::span<const std::int64_t> parts);

} // namespace reprieve
