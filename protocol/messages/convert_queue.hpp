#pragma once

#include "state/model/queue.hpp"

#include <absl/status/statusor.h>
#include <reprieve/v1/model.pb.h>

namespace reprieve {

v1::QueueCeilings to_proto(const queue_ceilings& from);
absl::StatusOr<queue_ceilings> from_proto(const v1::QueueCeilings& from);

v1::Queue to_proto(const queue& from);
absl::StatusOr<queue> from_proto(const v1::Queue& from);

v1::QueueStatus to_proto(const queue_status& from);
absl::StatusOr<queue_status> from_proto(const v1::QueueStatus& from);

} // namespace reprieve
