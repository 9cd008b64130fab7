#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

namespace reprieve {

/// Candidates that give the same and cost the same: it only matters how many of them are taken.
struct cover_item {
  std::int64_t cost = 0;
  std::int64_t count = 0;
  std::vector<std::int64_t> gives; ///< by need; never negative
};

/// How many of each item are taken.
using cover_counts = std::vector<std::int64_t>;

/// The cheapest choice of items that gives at least what is needed of everything, by branch and
/// bound over the linear relaxation. Its proofs hold in spite of rounding: the relaxation only
/// suggests prices, and the bound is computed from these, less what rounding may have added.
class least_cover {
public:
  static constexpr std::int64_t any_cost = std::numeric_limits<std::int64_t>::max() / 2;

  /// Says of a choice, from which nothing can be left out, whether it may be.
  using judge = std::function<bool(const cover_counts& taken)>;

  /// All costs together, and all that is given of one need, stay below 2^61.
  least_cover(std::vector<cover_item> items, std::vector<std::int64_t> needs);

  /// From now on choices count only that together have no more than `most`, above 0, of what one of
  /// each item has.
  void cap(const std::vector<std::int64_t>& each, std::int64_t most);
  /// From now on choices count only if they may be.
  void judge_by(judge may_be) {
    may_be_ = std::move(may_be);
  }

  /// Finds how many must be taken in any case, however cheap, and adds that to the needs: bounds
  /// come closer, because a part of an item is no longer as good as its part of the cost.
  void sharpen(std::size_t& steps);

  struct answer {
    std::optional<cover_counts> taken; ///< the cheapest that was found
    bool proved = false;               ///< there is nothing cheaper, or nothing at all
    std::int64_t bound = 0;            ///< nothing costs less
  };

  /// The cheapest that costs no more than `limit`, with no more of each item than `most`. Counts
  /// the steps it takes off `steps`, and ends when there are none left.
  answer cheapest(const cover_counts& most, std::int64_t limit, std::size_t& steps) const;
  /// Anything that costs no more than `limit`.
  answer any(const cover_counts& most, std::int64_t limit, std::size_t& steps) const;

  bool covers(const cover_counts& taken) const;
  /// Whether something between these may.
  bool could_cover(const cover_counts& least, const cover_counts& most) const;
  std::int64_t cost_of(const cover_counts& taken) const;
  /// Leaves out what is not needed, the dearest first.
  void trim(cover_counts& taken) const;

  /// As many as there are of each item.
  cover_counts all() const;

private:
  friend class cover_search;

  std::vector<cover_item> items_;   ///< what they give is negative in the row of a cap
  std::vector<std::int64_t> needs_; ///< likewise
  judge may_be_;
  std::vector<std::size_t> dearest_first_;
  std::int64_t cost_step_ = 1; ///< all costs are multiples of it
};

} // namespace reprieve
