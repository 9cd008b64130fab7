#pragma once

#include "state/records/workload_record.hpp"

#include <absl/status/statusor.h>
#include <reprieve/v1/records.pb.h>

namespace reprieve {

v1::SlotState to_proto(slot_state value);
absl::StatusOr<slot_state> from_proto(v1::SlotState value);

v1::SlotRecord to_proto(const slot_record& from);
absl::StatusOr<slot_record> from_proto(const v1::SlotRecord& from);

} // namespace reprieve
