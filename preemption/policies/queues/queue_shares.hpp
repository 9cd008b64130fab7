#pragma once

#include "preemption/policies/queues/queue_tree.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace reprieve {

/// What one of several may get.
struct share_bounds {
  std::int64_t weight = 1; ///< counts up to 2^31; at zero, it gets only the least
  std::int64_t least = 0;
  std::int64_t most = 0; ///< not below the least
};

/// What becomes of the parts of a unit.
enum class share_rounding {
  exact,   ///< shares are no more than the total; a larger total may bring one share down by a unit
  upwards, ///< shares may be more than the total, and none is less of a larger total
};

/// Water-filling: divides `total` by weight, none below its least nor above its most; what one
/// leaves goes to the others by weight. Remainders go to the largest, then to the earlier. Where
/// the total is below the sum of all least, it is divided by these alone. The sum is the total, or
/// the sum of all most where that is lower. Takes n log n.
std::vector<std::int64_t> fill_by_weight(std::int64_t total, std::span<const share_bounds> among,
                                         share_rounding rounding = share_rounding::exact);

/// Likewise in multiples of `unit`: `total` is divided in whole units, bounds are rounded up for
/// that, and nobody gets more than its most in the end. Some may be left over, unless there is
/// enough for all.
std::vector<std::int64_t> fill_in_units(std::int64_t total, std::span<const share_bounds> among,
                                        std::int64_t unit,
                                        share_rounding rounding = share_rounding::exact);

/// More is guaranteed to the queues under a parent than there is, so that each gets its part of
/// what there is, in proportion to what it is guaranteed.
struct guarantee_cut {
  std::string parent; ///< empty at the top
  std::string resource;
  std::int64_t guaranteed = 0; ///< in all
  std::int64_t available = 0;

  bool operator==(const guarantee_cut&) const = default;
};

struct queue_shares {
  std::vector<std::int64_t> deserved; ///< by vertex
  std::vector<guarantee_cut> cuts;    ///< parents before their children
};

/// What every queue deserves of one resource (docs/policies.md#queues): queues at the top divide
/// the capacity, children what their parent deserves. `demand` is that of the leaves, by vertex;
/// what it says of others is not read.
///
/// The least of a queue is what it and, in sum, its children are guaranteed, within its limit. The
/// most is its limit, its demand where it is capped by that, and what its children can take, but
/// never below the least: what is guaranteed is kept for a queue without demand, too.
///
/// Shares are multiples of `unit`, as far as bounds leave it.
queue_shares deserved_shares(const queue_tree& tree, std::string_view resource,
                             std::int64_t capacity, std::span<const std::int64_t> demand,
                             std::int64_t unit = 1);

/// What queues may keep: what they deserve where nobody but their own pods asked for anything, and
/// a guarantee counts no further than a queue that is capped by its demand uses it. Who uses more
/// has to give it back, even if nobody waits for it (docs/policies.md#queues). While pods leave
/// whose room is there twice, shares are rounded upwards: nobody goes because more of them leave.
std::vector<std::int64_t> kept_shares(const queue_tree& tree, std::string_view resource,
                                      std::int64_t capacity, std::span<const std::int64_t> used,
                                      std::int64_t unit = 1,
                                      share_rounding rounding = share_rounding::exact);

} // namespace reprieve
