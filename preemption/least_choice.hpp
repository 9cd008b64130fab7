#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace reprieve {

/// Somebody who may go, for a cost, and what that gives.
struct cover_candidate {
  std::int64_t cost = 0;
  std::vector<std::int64_t> gives; ///< by need; never negative
};

/// Who goes at the least cost.
struct least_choice {
  std::vector<std::size_t> who; ///< places among the candidates, in order
  /// None costs less, and of those that cost the same none has a less important one where they
  /// first differ.
  bool proved = false;
  std::int64_t bound = 0; ///< none costs less, proved or not
  std::size_t steps = 0;  ///< that it took
};

/// Chooses among candidates, the most important first, who give what is needed at the least cost;
/// of several such choices the one that spares the most important. Nothing where all together do
/// not give enough, or none was found in so many steps.
std::optional<least_choice> choose_least(std::span<const cover_candidate> candidates,
                                         const std::vector<std::int64_t>& needs,
                                         std::size_t most_steps);

} // namespace reprieve
