#pragma once

#include <absl/status/status.h>
#include <grpcpp/support/status.h>

#include <string>
#include <string_view>

namespace reprieve {

/// A sentence as it may go to somebody's terminal, on one line, and fits the trailer of an answer:
/// what a caller wrote may be quoted in it, with anything that a name can have.
std::string presentable(std::string_view sentence);

/// The codes of both are the same numbers.
grpc::Status to_grpc(const absl::Status& status);

} // namespace reprieve
