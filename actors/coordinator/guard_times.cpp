#include "actors/coordinator/guard_times.hpp"

#include "state/records/recent_preemptions.hpp"

#include <algorithm>
#include <utility>

namespace reprieve {

bool guard_times::set(const guards& limits) {
  if (limits_ == limits)
    return false;
  limits_ = limits;
  guarded_.clear();
  return true;
}

void guard_times::guard_until(time_point when, const std::string& workload,
                              const std::string& node) {
  if (when > released_)
    guarded_.insert({when, workload, node});
}

void guard_times::note_start(const pod& p) {
  const auto least = std::max(limits_.minimum_runtime, p.minimum_runtime);
  if (p.started != no_time && least > duration{0})
    guard_until(p.started + least, p.workload, p.node);
}

void guard_times::note_preemptions(const workload_record& record) {
  if (limits_.preemptions_per_workload_per_hour)
    for (const auto& one : record.status.preempted)
      guard_until(one.at + recent_preemption_window, record.spec->name, {});
}

std::vector<guard_times::released_work> guard_times::take_released(time_point now) {
  released_ = std::max(released_, now);
  std::vector<released_work> released;
  while (!guarded_.empty() && guarded_.begin()->until <= released_)
    released.push_back(std::move(guarded_.extract(guarded_.begin()).value()));
  return released;
}

} // namespace reprieve
