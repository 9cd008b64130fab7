#pragma once

#include "state/model/placement.hpp"

#include <absl/status/statusor.h>
#include <reprieve/v1/model.pb.h>

namespace reprieve {

v1::NominatedRoom to_proto(const nominated_room& from);
absl::StatusOr<nominated_room> from_proto(const v1::NominatedRoom& from);

v1::Placement to_proto(const placement& from);
absl::StatusOr<placement> from_proto(const v1::Placement& from);

} // namespace reprieve
