#pragma once

#include "state/model/pod.hpp"
#include "state/model/resource_group.hpp"
#include "state/records/workload_record.hpp"

#include <compare>
#include <set>
#include <string>
#include <vector>

namespace reprieve {

/// When guards let somebody go by time alone (docs/policies.md#guards): a pod that has run for long
/// enough, and a workload whose last preemptions are long ago.
class guard_times {
public:
  /// Goes by these from now on. True where they are others than before: nothing is known then.
  bool set(const guards& limits);

  void note_start(const pod& p);
  void note_preemptions(const workload_record& record);

  /// Whom a guard let go: the workload, and the node where its pods are on any.
  struct released_work {
    time_point until = no_time;
    std::string workload;
    std::string node;

    auto operator<=>(const released_work&) const = default;
  };
  /// Those that were let go up to now and were not taken yet.
  std::vector<released_work> take_released(time_point now);

  /// When somebody is let go next; `no_time` where nobody is.
  time_point next() const {
    return guarded_.empty() ? no_time : guarded_.begin()->until;
  }

private:
  void guard_until(time_point when, const std::string& workload, const std::string& node);

  guards limits_;
  std::set<released_work> guarded_;
  time_point released_ = no_time; ///< up to when they were let go
};

} // namespace reprieve
