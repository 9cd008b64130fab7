#include "state/store/etcd/etcd_status.hpp"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>

namespace reprieve {

namespace {

bool says(const grpc::Status& status, std::string_view text) {
  return status.error_message().find(text) != std::string::npos;
}

/// The refusal that `status` is, if etcd itself worded it: then nothing was carried out. The same
/// codes from anyone in between prove nothing.
std::optional<absl::StatusCode> refusal(const grpc::Status& status) {
  if (!status.error_message().starts_with("etcdserver:"))
    return std::nullopt;
  switch (status.error_code()) {
  case grpc::StatusCode::INVALID_ARGUMENT:
    return says(status, "authentication failed") ? absl::StatusCode::kUnauthenticated
                                                 : absl::StatusCode::kInvalidArgument;
  case grpc::StatusCode::NOT_FOUND:
    return absl::StatusCode::kNotFound;
  case grpc::StatusCode::OUT_OF_RANGE:
    return absl::StatusCode::kOutOfRange;
  case grpc::StatusCode::PERMISSION_DENIED:
    return absl::StatusCode::kPermissionDenied;
  case grpc::StatusCode::UNAUTHENTICATED:
    return absl::StatusCode::kUnauthenticated;
  case grpc::StatusCode::FAILED_PRECONDITION:
    return absl::StatusCode::kFailedPrecondition;
  case grpc::StatusCode::RESOURCE_EXHAUSTED:
    return says(status, "too many requests") ? absl::StatusCode::kUnavailable
                                             : absl::StatusCode::kResourceExhausted;
  case grpc::StatusCode::UNAVAILABLE:
    // Checked before the request is looked at, because we send `hasleader`.
    if (says(status, "etcdserver: no leader"))
      return absl::StatusCode::kUnavailable;
    return std::nullopt;
  default:
    return std::nullopt;
  }
}

absl::Status worded(const grpc::Status& status, absl::StatusCode otherwise) {
  if (status.ok())
    return absl::OkStatus();
  const auto code = refusal(status).value_or(otherwise);
  if (status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED)
    return absl::Status(code, "etcd did not answer in time; see that most of its members are up");
  return absl::Status(code, fmt::format("etcd: {}", status.error_message()));
}

} // namespace

bool never_sent(const grpc::Status& status) {
  // With gRPC's own retries off, these come from choosing a connection, before anything is sent.
  return status.error_code() == grpc::StatusCode::UNAVAILABLE
         && (status.error_message().starts_with("failed to connect to all addresses")
             || status.error_message().starts_with("DNS resolution failed"));
}

bool wants_new_token(const grpc::Status& status) {
  return says(status, "etcdserver: invalid auth token")
         || says(status, "etcdserver: revision of auth store is old");
}

absl::Status read_status(const etcd_end& end) {
  return worded(end.status, absl::StatusCode::kUnavailable);
}

absl::Status write_status(const etcd_end& end) {
  // Its server does not read what is larger than it takes, and carries out nothing of it.
  if (end.status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED
      && says(end.status, "received message larger than max"))
    return worded(end.status, absl::StatusCode::kInvalidArgument);
  return worded(end.status, end.sent ? absl::StatusCode::kUnknown : absl::StatusCode::kUnavailable);
}

} // namespace reprieve
