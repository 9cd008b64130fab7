#pragma once

#include "state/model/workload.hpp"

#include <absl/status/statusor.h>
#include <reprieve/v1/model.pb.h>

namespace reprieve {

v1::Condition to_proto(const condition& from);
absl::StatusOr<condition> from_proto(const v1::Condition& from);

v1::ResolvedPriority to_proto(const resolved_priority& from);
absl::StatusOr<resolved_priority> from_proto(const v1::ResolvedPriority& from);

v1::PastPreemption to_proto(const past_preemption& from);
absl::StatusOr<past_preemption> from_proto(const v1::PastPreemption& from);

v1::WorkloadStatus to_proto(const workload_status& from);
absl::StatusOr<workload_status> from_proto(const v1::WorkloadStatus& from);

} // namespace reprieve
