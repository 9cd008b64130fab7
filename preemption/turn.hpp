#pragma once

#include "preemption/preemptor.hpp"
#include "state/queue_limits.hpp"
#include "state/workload_record.hpp"

#include <optional>
#include <string>

namespace reprieve {

/// Why it is not the turn of one that waits, whatever room there is.
struct held_back {
  std::string why;
  time_point until = no_time; ///< where time alone changes that
};

/// What the preemptor takes at least, of `pods` their number included.
resources wanted_by(const preemptor& who);

/// Whether the workload was preempted and is resumed later (DESIGN 3.6).
std::optional<held_back> why_backed_off(const workload_record& record, time_point now);

/// Whether a unit of the workload has to stand back in this cycle: for that, or because its queue
/// is at its limit (DESIGN 3.4). Nothing where it may be tried.
std::optional<held_back> why_held_back(const workload_record& record, const preemptor& who,
                                       const by_name<queue>& queues, const usage_by_queue& used,
                                       time_point now);

} // namespace reprieve
