#pragma once

#include "preemption/problem/amounts.hpp"

#include <compare>
#include <cstdint>

namespace reprieve {

/// A part of a whole, compared without rounding. The whole is above zero.
struct fraction {
  std::int64_t part = 0;
  std::int64_t of = 1;

  friend std::strong_ordering operator<=>(const fraction& a, const fraction& b) {
    const auto left = static_cast<wide_int>(a.part) * b.of;
    const auto right = static_cast<wide_int>(b.part) * a.of;
    return left < right   ? std::strong_ordering::less
           : left > right ? std::strong_ordering::greater
                          : std::strong_ordering::equal;
  }
  friend bool operator==(const fraction& a, const fraction& b) {
    return (a <=> b) == 0;
  }
};

} // namespace reprieve
