#pragma once

#include "preemption/pipeline/budgets.hpp"
#include "preemption/pipeline/scoring.hpp"
#include "preemption/problem/effort.hpp"
#include "preemption/room/domain_room.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace reprieve {

/// The best of all sets of victims, by branch and bound over the candidates, most important first:
/// each stays where the preemptor still fits, or goes where that can still be better than the best
/// so far. The first set that it comes to is the one that sparing the most important gives, and
/// only a cheaper one is better than that: who has run for longer stays.
class exact_victim_search {
public:
  /// Judges a set of victims that is better than the best so far but for cascades, which are not
  /// known before. Returns what it scores in all, or nothing where it can't be had, so that a set
  /// that costs more may still be the best.
  using judge = std::function<std::optional<score>(const std::vector<portion_row>& victims)>;

  exact_victim_search(const problem& given, domain_room& room,
                      std::span<const portion_row> candidates, std::size_t most_steps,
                      effort& spent);

  /// `room` has all candidates gone, and the preemptor fits. Calls `found` for every set that is
  /// better than `best` and all before it.
  void run(const std::optional<score>& best, const judge& found);

  /// Whether all were gone through that could be better.
  bool was_complete() const {
    return complete_;
  }

private:
  void decide(std::size_t at, const score& so_far);
  bool all_are_needed();
  /// Than the best so far. Before the first is found, what costs the same may be: it spares those
  /// who are more important.
  bool may_be_better(const score& some) const;

  const problem& given_;
  domain_room& room_;
  std::span<const portion_row> candidates_;
  std::vector<std::int64_t> work_lost_; ///< by candidate
  std::int64_t most_victims_;           ///< that a decision may have (docs/policies.md#guards)
  std::size_t steps_left_;
  bool complete_ = true;
  bool found_any_ = false;
  effort& spent_;
  budget_use budgets_;
  std::vector<portion_row> victims_;
  std::optional<score> best_;
  const judge* found_ = nullptr;
};

} // namespace reprieve
