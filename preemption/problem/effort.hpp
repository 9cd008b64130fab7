#pragma once

#include <cstdint>
#include <limits>
#include <optional>

namespace reprieve {

/// Work done in one domain, in units that are the same on every machine: a portion or a node looked
/// at. Where a limit is set (docs/policies.md#guards) the search stops there with the best it has.
class effort {
public:
  explicit effort(std::optional<std::int64_t> limit)
      : left_(limit.value_or(std::numeric_limits<std::int64_t>::max())) {}

  void spend(std::size_t units) {
    left_ -= static_cast<std::int64_t>(units);
  }
  bool exhausted() const {
    return left_ < 0;
  }

private:
  std::int64_t left_;
};

} // namespace reprieve
