#pragma once

#include "state/quantities/time.hpp"

#include <algorithm>
#include <random>
#include <utility>

namespace reprieve {

/// How long to wait before trying again: doubles up to a limit, and each wait is drawn from its
/// upper half, so that those who failed together do not come back together.
class backoff {
public:
  backoff(duration first, duration longest) : first_(first), longest_(longest), next_(first) {}

  duration next() {
    const auto most = std::exchange(next_, std::min(next_ * 2, longest_));
    return duration(std::uniform_int_distribution(most.count() / 2, most.count())(random_));
  }

  void reset() {
    next_ = first_;
  }

private:
  duration first_;
  duration longest_;
  duration next_;
  std::minstd_rand random_{std::random_device{}()};
};

} // namespace reprieve
