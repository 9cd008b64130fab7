#pragma once

#include "state/containers/name_map.hpp"
#include "state/quantities/time.hpp"

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace reprieve {

/// Pods that were told to stop, and those of them that are there past all their limits: they are
/// stuck, and nobody counts on their room.
class stopping_pods {
public:
  void put(const std::string& uid, std::string node, time_point grace_over);
  void erase(const std::string& uid);

  bool is_stuck(std::string_view uid) const {
    return stuck_.contains(uid);
  }
  bool has_stuck() const {
    return !stuck_.empty();
  }

  struct found_stuck {
    std::vector<std::string> nodes; ///< where pods are stuck since the last look, once for each
    time_point next = no_time;      ///< when there may be more of them
  };
  /// Finds those whose grace period is over for twice as long as a machine has to delete by force.
  found_stuck look(time_point now, duration force_delete_after);

private:
  struct told_pod {
    std::string node;
    time_point grace_over = no_time;
  };
  name_map<told_pod> told_; ///< by uid
  std::set<std::pair<time_point, std::string>> in_order_;
  std::set<std::string, std::less<>> stuck_; ///< uids
};

} // namespace reprieve
