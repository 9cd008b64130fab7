#pragma once

#include "tests/disturbance/still_cluster.hpp"

#include <limits>

namespace reprieve::disturbance {

/// More than there is of anything.
inline constexpr std::int64_t endless = std::numeric_limits<std::int64_t>::max() / 4;

/// The fewest pods that have to go so that `gpus` of theirs are free; nothing where all of them are
/// not enough.
std::optional<std::vector<std::size_t>> fewest_cover(const std::vector<running_unit>& running,
                                                     const std::vector<std::size_t>& candidates,
                                                     std::int64_t gpus);

/// The fewest pods of the candidates that have to go so that `who` has a place; `own_gpus` have to
/// come from its own queue, and `above` is what may be taken from each of the other queues whatever
/// the priority. Nothing where all of them are not enough.
std::optional<entitled_room> least_room(const still_cluster& cluster, const unit& who,
                                        const std::vector<std::size_t>& candidates,
                                        std::int64_t own_gpus, std::vector<std::int64_t> above);

} // namespace reprieve::disturbance
