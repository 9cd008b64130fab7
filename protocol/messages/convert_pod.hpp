#pragma once

#include "state/model/pod.hpp"
#include "state/records/pod_list.hpp"

#include <absl/status/statusor.h>
#include <reprieve/v1/model.pb.h>

#include <string>

namespace reprieve {

v1::PodPhase to_proto(pod_phase value);
absl::StatusOr<pod_phase> from_proto(v1::PodPhase value);

v1::PortionId to_proto(const portion_id& from);
absl::StatusOr<portion_id> from_proto(const v1::PortionId& from);

v1::Pod to_proto(const pod& from);
absl::StatusOr<pod> from_proto(const v1::Pod& from);

/// The bytes of what `to_proto` makes, without making it.
std::string encode_message(const pod& from);

/// The bytes of the pod's message, which it remembers.
const std::string& bytes_of(const shared_pod& p);

/// The other way; the pod keeps the bytes.
absl::StatusOr<pod_list::pointer> shared_pod_from(const std::string& bytes);

} // namespace reprieve
