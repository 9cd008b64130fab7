#pragma once

#include "state/model/disruption_budget.hpp"

#include <absl/status/statusor.h>
#include <reprieve/v1/model.pb.h>

namespace reprieve {

v1::DisruptionBudget to_proto(const disruption_budget& from);
absl::StatusOr<disruption_budget> from_proto(const v1::DisruptionBudget& from);

} // namespace reprieve
