#pragma once

#include "tests/disturbance/still_cluster.hpp"

namespace reprieve::disturbance {

/// Whole GPUs by weight, none more than a queue asks for (or its limit): largest remainder first,
/// then the earlier queue.
std::vector<std::int64_t> deserved(std::int64_t gpus, const std::vector<share_queue>& queues,
                                   const std::vector<std::int64_t>& asked);

/// Which candidates (positions in `running`) go so that `gpus` of theirs are free in the order that
/// queues give pods back, which leaves no choice: the least important first, then those that
/// started last; and then nobody who is not needed, the most important first. All where they are
/// not enough.
std::vector<std::size_t> given_back(const std::vector<running_unit>& running,
                                    std::vector<std::size_t> candidates, std::int64_t gpus);

/// The least set of running units that has to go so that `who` can be placed, by its rights: within
/// its queue's limit and share, from lower priority in its own queue, and from other queues above
/// their shares whatever the priority; from others only where none is, and their priority is lower,
/// as they would take it back from those who have too much. Beyond its share only in exchange for
/// less important work of its own queue. Sets whose most important member is the least important
/// possible come first, then those of the fewest pods. Nothing where no set is enough, which is
/// where it is not entitled.
std::optional<entitled_room> room_for(const still_cluster& cluster, const unit& who);

/// Whether `who`, which was stopped on these nodes, would have a place again if those were taken
/// away that run on one of them now and did not before (`started`, positions in `running`), of its
/// own queue and behind it in its line. Then it was stopped for nothing.
bool was_displaced(const still_cluster& cluster, const unit& who,
                   const std::map<node_number, std::int64_t>& was_on,
                   const std::vector<std::size_t>& started);

/// The fewest pods that have to go so that every queue is within its limit and those of `newcomers`
/// that are entitled to a place have one. They are served by priority, or in the order given,
/// whichever costs less.
least least_evictions(const still_cluster& cluster, const std::vector<unit>& newcomers);

} // namespace reprieve::disturbance
