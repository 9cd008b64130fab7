#pragma once

#include "state/catalog.hpp"
#include "state/given_pod_fields.hpp"
#include "state/node.hpp"
#include "state/placement.hpp"
#include "state/pod.hpp"
#include "state/workload_record.hpp"

#include <absl/status/status.h>

#include <span>

namespace reprieve {

/// What the pods of a snapshot are checked against.
struct snapshot_around_pods {
  const by_name<node>& nodes;
  const by_name<workload_record>& workloads;
  std::span<const placement> placements;
};

/// Refuses a pod that can't stand where it says, or that no workload could have made. One that is
/// on its way out may be what is left of what its workload was before.
absl::Status check_pod(const pod& p, const snapshot_around_pods& around);

/// Refuses two pods with one uid, and two at one place of a workload, unless one is on its way out.
absl::Status check_apart(std::span<const pod> pods);

/// Refuses two placements of one deployment in one cluster.
absl::Status check_apart(std::span<const placement> placements);

/// What the pod's template says, with what the pod itself says of where it is and since when, and
/// with what its manifest gave.
pod completed(const pod& p, const given_pod_fields& given, const workload_record& owner);

} // namespace reprieve
