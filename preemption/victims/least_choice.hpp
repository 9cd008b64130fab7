#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <vector>

namespace reprieve {

/// Somebody who may go, for a cost, and what that gives.
struct cover_candidate {
  std::int64_t cost = 0;
  std::vector<std::int64_t> gives; ///< by need; never negative
  std::int64_t loss = 0;           ///< a cost of its own, that counts next
  bool like_before = false;        ///< no less important than the candidate before it
};

/// What counts first of two choices that cost the same.
enum class then_counts {
  the_most_important, ///< who goes of those, then what is lost in all
  what_is_lost
};

struct choice_rules {
  then_counts then = then_counts::the_most_important;
  /// Whether these, by their places, may go; everybody where it is empty.
  std::function<bool(std::span<const std::size_t> who)> may_be = {};
  std::int64_t most_cost = std::numeric_limits<std::int64_t>::max() / 2;
};

/// Who goes at the least cost.
struct least_choice {
  /// Places among the candidates, in order; nobody where all choices are ruled out, which `proved`
  /// says then.
  std::vector<std::size_t> who;
  /// None is better, and of those that are as good none has a less important one where they first
  /// differ.
  bool proved = false;
  std::int64_t bound = 0; ///< none costs less, proved or not
  std::size_t steps = 0;  ///< that it took
};

/// Chooses among candidates, the most important first, who give what is needed at the least cost;
/// of several such choices the one whose most important is the least so, and that loses least; of
/// these the one that spares the most important. Nothing where all together do not give enough, or
/// none was found in so many steps.
std::optional<least_choice> choose_least(std::span<const cover_candidate> candidates,
                                         const std::vector<std::int64_t>& needs,
                                         std::size_t most_steps, const choice_rules& rules = {});

} // namespace reprieve
