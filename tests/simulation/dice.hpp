#pragma once

#include <cstddef>
#include <cstdint>

namespace reprieve::simulation {

/// Numbers that look random and are the same for the same seed on every machine.
class dice {
public:
  explicit dice(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    auto z = state_ += 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31U);
  }

  /// From 0 to `end` - 1.
  std::size_t below(std::size_t end) {
    return static_cast<std::size_t>(next() % end);
  }

  std::int64_t between(std::int64_t first, std::int64_t last) {
    return first + static_cast<std::int64_t>(below(static_cast<std::size_t>(last - first + 1)));
  }

  bool one_in(std::size_t times) {
    return below(times) == 0;
  }

private:
  std::uint64_t state_;
};

} // namespace reprieve::simulation
