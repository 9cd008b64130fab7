#pragma once

#include "state/model/object.hpp"

#include <absl/status/statusor.h>
#include <reprieve/v1/api.pb.h>

namespace reprieve {

/// A kind has no default: `OBJECT_KIND_UNSPECIFIED` is refused.
v1::ObjectKind to_proto(object_kind value);
absl::StatusOr<object_kind> from_proto(v1::ObjectKind value);

/// The object without a status, which only the owner of the object knows.
v1::Object to_proto(const object& from);
absl::StatusOr<object> from_proto(const v1::Object& from);

} // namespace reprieve
