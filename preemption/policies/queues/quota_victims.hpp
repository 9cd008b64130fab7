#pragma once

#include "preemption/policies/queues/group_shares.hpp"
#include "preemption/policies/queues/queue_victims.hpp"
#include "preemption/problem/candidate_terms.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace reprieve {

/// A queue that uses more than it deserves, and its pods.
struct lavish_queue {
  std::size_t leaf = no_vertex;
  std::vector<queue_portion> in_order; ///< in which they go (docs/policies.md#queues)
};

/// How far a queue is brought down: no further than to what it deserves, or by one portion past it.
enum class reclaims { to_the_share, past_the_share };

struct reclaim_rules {
  reclaims down_to = reclaims::past_the_share;
  /// Whether those go, too, who are shielded. Without it they stay as long as others are enough.
  bool overrules = false;
  std::set<std::size_t> in_all{};  ///< leaves
  std::set<portion_id> left_out{}; ///< nobody takes these
};

/// The portions that may go so that queues come down to what they deserve, for a unit that asks for
/// `asked`: on each node so many as the queue has too much, if all of it were taken there; of the
/// queues `in_all`, so many in all.
std::shared_ptr<const victim_scope> scope_of_reclaim(const group_shares& shares,
                                                     std::span<const lavish_queue> queues,
                                                     const group_shares::amounts_by_column& asked,
                                                     const cluster_view& view,
                                                     const reclaim_rules& rules);

/// Those of the victims, by leaf, that would go, in their order, although their queue has no more
/// than it deserves by then.
std::map<std::size_t, std::set<portion_id>>
given_too_much(const group_shares& shares, std::span<const lavish_queue> queues,
               const group_shares::amounts_by_column& asked, std::span<const victim> victims,
               const reclaim_rules& rules);

} // namespace reprieve
