#pragma once

#include "preemption/candidate_terms.hpp"
#include "preemption/group_shares.hpp"
#include "preemption/queue_victims.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace reprieve {

/// A queue that uses more than it deserves, and its pods.
struct lavish_queue {
  std::size_t leaf = no_vertex;
  std::vector<queue_portion> in_order; ///< in which they go (DESIGN 3.4)
};

/// How far a queue is brought down: no further than to what it deserves, or by one portion past it.
enum class reclaims { to_the_share, past_the_share };

struct reclaim_rules {
  reclaims down_to = reclaims::past_the_share;
  bool by_node = false;
};

/// The portions that may go so that queues come down to what they deserve, for a unit that asks for
/// `asked`. With `by_node`, on each node so many as the queue has too much, if all of it were taken
/// there; otherwise so many in all.
std::shared_ptr<const victim_scope> scope_of_reclaim(const group_shares& shares,
                                                     std::span<const lavish_queue> queues,
                                                     const group_shares::amounts_by_column& asked,
                                                     const cluster_view& view, reclaim_rules rules);

/// Whether each of the victims, in the order of its queue, went while the queue used more than it
/// deserves, and how much more.
bool takes_only_what_is_too_much(const group_shares& shares, std::span<const lavish_queue> queues,
                                 const group_shares::amounts_by_column& asked,
                                 std::span<const victim> victims, reclaims down_to);

} // namespace reprieve
