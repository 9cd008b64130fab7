#pragma once

#include "state/model/decision.hpp"
#include "state/quantities/time.hpp"

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace reprieve::simulation {

/// What changes and who is stopped because of it, once nothing fails any more: whoever has to go
/// for the sake of queues goes because something changed, and once for that
/// (docs/policies.md#queues).
class eviction_causes {
public:
  /// From now on whatever changes is known to all at once.
  void begin(time_point now) {
    since_ = now;
  }
  bool has_begun() const {
    return since_ != no_time;
  }

  /// Something changed in the resource group; in all of them where none is named. It may not be
  /// known there before `until`.
  void changed(std::string_view group, time_point when, time_point until = no_time);
  /// The workload was stopped, and may come back then.
  void comes_back(std::string_view group, const std::string& workload, time_point when);

  /// A pod that goes, with the time of the plan by which it came.
  struct stopped_pod {
    std::string uid;
    std::string workload;
    time_point planned = no_time;
    time_point started = no_time;
  };
  /// What is wrong with whom the decision stops; empty where nothing is.
  std::string judge(const decision& d, const std::vector<stopped_pod>& pods, time_point now);

  /// A decision was given up, and some of its victims had been told.
  void given_up(const decision& d, time_point now);
  /// A decision was committed that may be the reason, with the queues of those whom it places.
  void committed(const decision& d, std::set<std::string> queues);
  /// Those in whose favour somebody was stopped and who do not run, though nothing changed and
  /// nobody more important came. To be asked when all has come to rest.
  std::string stopped_in_vain(const std::function<bool(const assignment&)>& runs);

private:
  struct change {
    std::string group;
    time_point at = no_time;
    time_point until = no_time;
    std::string returns; ///< the workload that comes back
  };
  struct commit {
    std::string group;
    std::int32_t priority = 0;
    time_point decided = no_time;
    std::set<std::string> queues;
  };
  bool others_came(const decision& d, time_point since, time_point until) const;
  bool anything_changed(std::string_view group, time_point from, time_point to,
                        std::string_view but_return_of = {}) const;

  time_point since_ = no_time;
  std::vector<change> changes_;
  std::map<std::string, time_point> served_;     ///< when others went for a pod, by its place
  std::map<std::string, time_point> taken_back_; ///< when, by queue and resource group
  std::vector<std::pair<decision, time_point>> given_up_;
  std::vector<commit> committed_;
};

} // namespace reprieve::simulation
