#pragma once

#include "state/model/decision.hpp"

#include <absl/status/statusor.h>
#include <reprieve/v1/decision.pb.h>
#include <reprieve/v1/records.pb.h>

namespace reprieve {

v1::DecisionPhase to_proto(decision_phase value);
absl::StatusOr<decision_phase> from_proto(v1::DecisionPhase value);

v1::Assignment to_proto(const assignment& from);
absl::StatusOr<assignment> from_proto(const v1::Assignment& from);

v1::VictimPod to_proto(const victim_pod& from);
absl::StatusOr<victim_pod> from_proto(const v1::VictimPod& from);

v1::Victim to_proto(const victim& from);
absl::StatusOr<victim> from_proto(const v1::Victim& from);

v1::CountChange to_proto(const count_change& from);
absl::StatusOr<count_change> from_proto(const v1::CountChange& from);

v1::TraceContext to_proto(const trace_context& from);
absl::StatusOr<trace_context> from_proto(const v1::TraceContext& from);

v1::Decision to_proto(const decision& from);
absl::StatusOr<decision> from_proto(const v1::Decision& from);

/// The part of a decision that its head in the store holds. Chunks, nodes and coordinator are the
/// writer's to fill in.
v1::DecisionHead to_head(const decision& from);

/// A decision that still lacks what is in its bodies.
absl::StatusOr<decision> from_proto(const v1::DecisionHead& from);

/// Adds what is in one body; bodies come in the order of their chunks. A decision that refused one
/// is not to be used.
absl::Status add_body(const v1::DecisionBody& from, decision& to);

} // namespace reprieve
