#pragma once

#include "observability/tracing.hpp"

#include <absl/status/statusor.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <vector>

// Declared here, so that no header of ours needs one of OpenTelemetry's.
namespace opentelemetry {
inline namespace v1 {
namespace sdk::trace {
class SpanExporter;
} // namespace sdk::trace
} // namespace v1
} // namespace opentelemetry

namespace reprieve {

/// What an exporter shares with whoever started it; the processor owns the exporter itself.
class export_control {
public:
  /// From this instant on, the exporter drops what it gets.
  std::atomic<std::chrono::steady_clock::time_point> deadline{
    std::chrono::steady_clock::time_point::max()};

  void keep(std::vector<finished_span> ended);
  std::vector<finished_span> take();

private:
  std::mutex guard_;
  std::vector<finished_span> kept_; ///< by the exporter `memory`
};

/// The exporter that `options` ask for, which must be one.
absl::StatusOr<std::unique_ptr<opentelemetry::sdk::trace::SpanExporter>>
make_exporter(const tracing_options& options, std::shared_ptr<export_control> control);

} // namespace reprieve
