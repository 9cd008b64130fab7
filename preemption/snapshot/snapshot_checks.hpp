#pragma once

#include "state/admission/admission.hpp"
#include "state/model/catalog.hpp"
#include "state/model/node.hpp"
#include "state/model/placement.hpp"
#include "state/model/pod.hpp"
#include "state/model/pod_manifest_fields.hpp"
#include "state/records/workload_record.hpp"

#include <absl/status/status.h>

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace reprieve {

/// What admission takes for known of a snapshot: workloads that say by their status that they were
/// admitted stay so, even if they would not be any more. Refers to what is added.
class facts_of_snapshot final : public facts_of_nothing {
public:
  void add(const workload& admitted, const workload_status& status);

  std::optional<std::string> group_of_node(std::string_view name) const override;
  const workload* find_workload(std::string_view name) const override;
  const workload_status* find_status(std::string_view name) const override;

private:
  std::map<std::string_view, std::pair<const workload*, const workload_status*>> workloads_;
  std::map<std::string_view, std::string_view> required_; ///< nodes, and the groups they were in
};

/// The uid of workloads that have none in the snapshot.
inline constexpr std::string_view made_up_uid = "snapshot";

/// Whether the status is that of a workload which a server has admitted.
bool was_admitted(const workload_status& status);

/// What the pods of a snapshot are checked against.
struct snapshot_around_pods {
  const by_name<node>& nodes;
  const by_name<workload_record>& workloads;
  std::span<const placement> placements;
};

/// Refuses a pod that can't stand where it says, or that no workload could have made. One that is
/// on its way out may be what is left of what its workload was before.
absl::Status check_pod(const pod& p, const snapshot_around_pods& around);

/// Refuses two pods with one uid, and two that fill a place of a workload for the same time, unless
/// one is on its way out.
absl::Status check_apart(std::span<const pod> pods);

/// Refuses two placements of one deployment in one cluster.
absl::Status check_apart(std::span<const placement> placements);

/// What the pod's template says, with what the pod itself says of where it is and since when, and
/// with what its manifest gave.
pod completed(const pod& p, const pod_manifest_fields& given, const workload_record& owner);

} // namespace reprieve
