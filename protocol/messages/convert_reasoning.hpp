#pragma once

#include "state/model/decision.hpp"

#include <absl/status/statusor.h>
#include <reprieve/v1/decision.pb.h>

namespace reprieve {

v1::Spared to_proto(const spared& from);
absl::StatusOr<spared> from_proto(const v1::Spared& from);

v1::Score to_proto(const score& from);
absl::StatusOr<score> from_proto(const v1::Score& from);

v1::DomainOutcome to_proto(const domain_outcome& from);
absl::StatusOr<domain_outcome> from_proto(const v1::DomainOutcome& from);

v1::Reasoning to_proto(const reasoning& from);
absl::StatusOr<reasoning> from_proto(const v1::Reasoning& from);

} // namespace reprieve
