#pragma once

#include "actors/workload_shard/workload_shard.hpp"
#include "state/containers/name_map.hpp"
#include "state/model/slot_list.hpp"

namespace reprieve {

/// Tells another replica what has changed in large workloads page by page. A workload may have a
/// million slots, of which a decision changes some hundred. Both sides have the same pages.
class paged_deltas_out {
public:
  /// The delta without what the other side has already. Each one has to come here.
  workload_delta without_known(const workload_delta& whole);

private:
  name_map<slot_list> known_; ///< by workload, of large ones
};

/// Puts together what comes in that way.
class paged_deltas_in {
public:
  void complete(workload_delta& delta);

private:
  name_map<slot_list> known_; ///< likewise
};

} // namespace reprieve
