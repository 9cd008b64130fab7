#pragma once

#include "state/model/catalog.hpp"
#include "state/records/node_record.hpp"
#include "state/records/workload_record.hpp"

#include <memory>
#include <string>
#include <vector>

namespace reprieve {

/// One resource group at one moment, as its coordinator sees it: pods as they are with what its own
/// open decisions do and with what their workloads say of their cost.
struct group_snapshot {
  std::string name;
  time_point taken = no_time;
  std::vector<std::shared_ptr<const node_record>> nodes;         ///< in order of name
  std::vector<std::shared_ptr<const workload_record>> workloads; ///< likewise
  std::vector<disruption_budget> budgets;                        ///< likewise
  std::vector<placement> recounted; ///< as its open decisions make them
  group_status status;
};

/// The whole live state. Each resource group is of one moment; they are asked at the same time, and
/// what is of two groups, or of a group and the queues, may be some milliseconds apart.
struct cluster_snapshot {
  std::string cluster; ///< its id
  std::shared_ptr<const catalog> known;
  by_name<queue_status> queues;
  std::vector<placement> placements;
  std::vector<group_snapshot> groups; ///< in order of name

  /// Has placements show what open decisions make of them, as pods do.
  void recount_placements();
};

} // namespace reprieve
