#pragma once

#include "state/model/node.hpp"

#include <absl/status/statusor.h>
#include <reprieve/v1/model.pb.h>

namespace reprieve {

v1::TaintEffect to_proto(taint_effect value);
absl::StatusOr<taint_effect> from_proto(v1::TaintEffect value);

v1::Taint to_proto(const taint& from);
absl::StatusOr<taint> from_proto(const v1::Taint& from);

v1::Toleration to_proto(const toleration& from);
absl::StatusOr<toleration> from_proto(const v1::Toleration& from);

v1::Node to_proto(const node& from);
absl::StatusOr<node> from_proto(const v1::Node& from);

v1::NodeStatus to_proto(const node_status& from);
absl::StatusOr<node_status> from_proto(const v1::NodeStatus& from);

} // namespace reprieve
