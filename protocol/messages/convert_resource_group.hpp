#pragma once

#include "state/model/resource_group.hpp"

#include <absl/status/statusor.h>
#include <reprieve/v1/model.pb.h>

namespace reprieve {

v1::GroupPolicy to_proto(group_policy value);
absl::StatusOr<group_policy> from_proto(v1::GroupPolicy value);

v1::PreemptionOrder to_proto(preemption_order value);
absl::StatusOr<preemption_order> from_proto(v1::PreemptionOrder value);

v1::VictimStrategy to_proto(victim_strategy value);
absl::StatusOr<victim_strategy> from_proto(v1::VictimStrategy value);

v1::Minimise to_proto(minimise value);
absl::StatusOr<minimise> from_proto(v1::Minimise value);

v1::Guards to_proto(const guards& from);
absl::StatusOr<guards> from_proto(const v1::Guards& from);

v1::RequiredNodeSettings to_proto(const required_node_settings& from);
absl::StatusOr<required_node_settings> from_proto(const v1::RequiredNodeSettings& from);

v1::ResourceGroup to_proto(const resource_group& from);
absl::StatusOr<resource_group> from_proto(const v1::ResourceGroup& from);

} // namespace reprieve
