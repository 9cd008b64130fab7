#pragma once

#include "state/model/priority_class.hpp"

#include <absl/status/statusor.h>
#include <reprieve/v1/model.pb.h>

namespace reprieve {

v1::PreemptionPolicy to_proto(preemption_policy value);
absl::StatusOr<preemption_policy> from_proto(v1::PreemptionPolicy value);

v1::PriorityClass to_proto(const priority_class& from);
absl::StatusOr<priority_class> from_proto(const v1::PriorityClass& from);

} // namespace reprieve
