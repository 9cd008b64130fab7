#pragma once

#include "observability/tracing.hpp"

#include <absl/status/statusor.h>

#include <string>

namespace reprieve {

/// What `--trace` asks for: `none`, `stdout`, `file:PATH`, `otlp-grpc:ENDPOINT` or
/// `otlp-http:ENDPOINT`.
absl::StatusOr<tracing_options> parse_trace(const std::string& text);

} // namespace reprieve
