#pragma once

#include "preemption/scoring.hpp"
#include "preemption/trial.hpp"

#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace reprieve {

/// Whether a victim that comes back would have to preempt in its turn: it finds no room in what is
/// then free, and there is somebody below it. Only amounts are looked at, since a victim's node
/// selector and tolerations are not known here.
class cascade_check {
public:
  explicit cascade_check(const cluster_view& view);

  /// `victims` are most important first; `after` has the room that the plan leaves, and is used up.
  bool cascades(std::span<const evicted_portion> victims, trial& after);

private:
  /// Nodes where a pod of one size fits before the plan, ordered by name as far as was needed.
  struct roomy_nodes {
    std::vector<node_row> nodes;
    std::size_t sorted = 0;
  };

  std::span<const node_row> roomy_for(amounts request, std::size_t most);
  /// Seats the pods, first fit by name among `most` roomy nodes and then the changed ones: more
  /// can't have been filled up by the plan and by those who came back before.
  bool find_room(std::span<const pod_row> pods, std::size_t most, std::span<const node_row> changed,
                 trial& after);
  bool somebody_below(std::int32_t priority, std::span<const evicted_portion> victims) const;

  const cluster_view& view_;
  std::map<std::int32_t, std::int64_t> pods_by_priority_;
  std::map<std::vector<std::int64_t>, roomy_nodes> roomy_;
};

} // namespace reprieve
