#pragma once

#include "state/model/workload.hpp"

#include <absl/status/statusor.h>
#include <reprieve/v1/model.pb.h>

namespace reprieve {

v1::WorkloadKind to_proto(workload_kind value);
absl::StatusOr<workload_kind> from_proto(v1::WorkloadKind value);

v1::DisruptionMode to_proto(disruption_mode value);
absl::StatusOr<disruption_mode> from_proto(v1::DisruptionMode value);

v1::ResumePolicy to_proto(resume_policy value);
absl::StatusOr<resume_policy> from_proto(v1::ResumePolicy value);

v1::PodTemplate to_proto(const pod_template& from);
absl::StatusOr<pod_template> from_proto(const v1::PodTemplate& from);

v1::PodGroup to_proto(const pod_group& from);
absl::StatusOr<pod_group> from_proto(const v1::PodGroup& from);

v1::ResumeSettings to_proto(const resume_settings& from);
absl::StatusOr<resume_settings> from_proto(const v1::ResumeSettings& from);

v1::CheckpointSettings to_proto(const checkpoint_settings& from);
absl::StatusOr<checkpoint_settings> from_proto(const v1::CheckpointSettings& from);

v1::Workload to_proto(const workload& from);
absl::StatusOr<workload> from_proto(const v1::Workload& from);

} // namespace reprieve
