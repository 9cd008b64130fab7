#pragma once

#include "state/admission/access_rules.hpp"
#include "state/model/requests.hpp"
#include "state/store/backup.hpp"

#include <absl/status/statusor.h>
#include <reprieve/v1/api.pb.h>

namespace reprieve {

v1::ApplyRequest to_proto(const apply_request& from);
absl::StatusOr<apply_request> from_proto(const v1::ApplyRequest& from);

/// What became of each object that was asked for.
v1::ApplyResponse to_proto(const std::vector<touched_object>& asked,
                           const std::vector<apply_outcome>& from);
absl::StatusOr<std::vector<apply_outcome>> from_proto(const v1::ApplyResponse& from);

v1::GetRequest to_proto(const get_request& from);
absl::StatusOr<get_request> from_proto(const v1::GetRequest& from);

/// As many as one answer takes; the others are behind its `next`.
v1::GetResponse to_proto(const shown_objects& from);
absl::StatusOr<shown_objects> from_proto(const v1::GetResponse& from);

v1::Object to_proto(const shown_object& from);
absl::StatusOr<shown_object> shown_from_proto(const v1::Object& from);

v1::Event to_proto(const event& from);
absl::StatusOr<event> from_proto(const v1::Event& from);

v1::DescribeRequest to_proto(const describe_request& from);
absl::StatusOr<describe_request> from_proto(const v1::DescribeRequest& from);

v1::DescribeResponse to_proto(const description& from);
absl::StatusOr<description> from_proto(const v1::DescribeResponse& from);

v1::DeleteRequest to_proto(const delete_request& from);
absl::StatusOr<delete_request> from_proto(const v1::DeleteRequest& from);

v1::HeartbeatRequest to_proto(const heartbeat_request& from);
absl::StatusOr<heartbeat_request> from_proto(const v1::HeartbeatRequest& from);

v1::ExplainRequest to_proto(const explain_request& from);
absl::StatusOr<explain_request> from_proto(const v1::ExplainRequest& from);

v1::ExplainResponse to_proto(const explanation& from);
absl::StatusOr<explanation> from_proto(const v1::ExplainResponse& from);

v1::BackupHeader to_proto(const backup_header& from);
backup_header from_proto(const v1::BackupHeader& from);

v1::BackupRecord to_proto(const backup_record& from);
backup_record from_proto(const v1::BackupRecord& from);

} // namespace reprieve
