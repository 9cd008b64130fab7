#pragma once

#include "preemption/queue_stage.hpp"
#include "preemption/queue_table.hpp"
#include "preemption/queue_victims.hpp"

#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace reprieve {

/// Below a limit that is exceeded a portion stays that its own queue can't keep, where less
/// important ones below the same limit may go in its stead and its queue may use as much then
/// (DESIGN 3.4): it would only come back and take their room. Of `by_row`, who goes of each leaf
/// queue, it changes the rows that it returns. Only queues that are capped by their demand take
/// part, as others keep what they deserve.
std::set<std::size_t> exchange_below_limits(const queue_stage_input& in, const queue_table& table,
                                            std::vector<queue_choice>& by_row);

/// These queues and all that share a limit above them with one of them: whose pods have to be
/// listed for that.
std::vector<std::string> with_who_share_limits(const queue_stage_input& in,
                                               std::span<const std::string> queues);

} // namespace reprieve
