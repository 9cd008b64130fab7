#include "apps/daemon/trace_option.hpp"

#include <fmt/format.h>

namespace reprieve {

absl::StatusOr<tracing_options> parse_trace(const std::string& text) {
  using exporter = tracing_options::exporter;
  tracing_options options;
  const auto colon = text.find(':');
  const auto kind = text.substr(0, colon);
  const auto rest = colon == std::string::npos ? std::string{} : text.substr(colon + 1);
  if (kind == "none") {
    options.to = exporter::none;
  } else if (kind == "stdout") {
    options.to = exporter::stdout_text;
  } else if (kind == "file") {
    options.to = exporter::file;
    options.path = rest;
  } else if (kind == "otlp-grpc") {
    options.to = exporter::otlp_grpc;
    options.endpoint = rest;
  } else if (kind == "otlp-http") {
    options.to = exporter::otlp_http;
    options.endpoint = rest;
  } else {
    return absl::InvalidArgumentError(
      fmt::format("--trace is '{}'; give none, stdout, file:PATH, otlp-grpc:ENDPOINT or "
                  "otlp-http:ENDPOINT",
                  text));
  }
  return options;
}

} // namespace reprieve
