#pragma once

#include "preemption/problem/preemptor.hpp"
#include "state/records/workload_record.hpp"

#include <optional>
#include <string>

namespace reprieve {

/// Why it is not the turn of one that waits, whatever room there is.
struct wait_reason {
  std::string why;
  time_point until = no_time; ///< where time alone changes that
};

/// What the preemptor takes at least, of `pods` their number included.
resources wanted_by(const preemptor& who);

/// What it would take with all its pods. That is what its queue shares are by, as the rest of a
/// gang asks for its part when the others run.
resources demand_of(const preemptor& who);

/// Likewise of so many pods of the group.
resources demand_of(const pod_group& group, std::int64_t pods);

/// Whether some of its pods were there before, and were stopped, or lost.
bool was_there_before(const preemptor& who);

/// When the unit may be tried: where it was stopped, as its workload resumes; else when the first
/// wait is over since something of the workload was stopped, however long that has to wait itself.
/// Where nothing is known of the workload's places, none is new.
time_point due_of(const workload_record& record, const preemptor& who);

/// Whether that is later (docs/policies.md#sessions).
std::optional<wait_reason> why_backed_off(const workload_record& record, const preemptor& who,
                                          time_point now);

} // namespace reprieve
