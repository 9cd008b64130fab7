#pragma once

#include "state/records/set_aside.hpp"

#include <absl/status/statusor.h>
#include <reprieve/v1/peer.pb.h>

namespace reprieve {

/// What shards tell of records that they can't read. What else there is of an object is for its own
/// shard to know.
v1::SetAside to_proto(const set_aside& from);
absl::StatusOr<set_aside> from_proto(const v1::SetAside& from);

} // namespace reprieve
