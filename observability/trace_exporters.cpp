#include "observability/trace_exporters.hpp"

#include "observability/otlp_endpoint.hpp"
#include "observability/span_file.hpp"
#include "observability/traceparent.hpp"

#include <fmt/format.h>
#include <opentelemetry/exporters/ostream/span_exporter_factory.h>
#include <opentelemetry/exporters/otlp/otlp_grpc_exporter_factory.h>
#include <opentelemetry/exporters/otlp/otlp_grpc_exporter_options.h>
#include <opentelemetry/exporters/otlp/otlp_http_exporter_factory.h>
#include <opentelemetry/exporters/otlp/otlp_http_exporter_options.h>
#include <opentelemetry/sdk/trace/exporter.h>
#include <opentelemetry/sdk/trace/span_data.h>

#include <functional>
#include <iterator>
#include <type_traits>
#include <utility>

namespace reprieve {

namespace {

namespace otel = opentelemetry;
namespace sdk = opentelemetry::sdk::trace;
using otel::sdk::common::ExportResult;

/// The longest that one request to a collector may take.
constexpr std::chrono::seconds export_timeout{2};

template <class Map>
string_map as_text(const Map& attributes) {
  string_map texts;
  for (const auto& [key, value] : attributes)
    texts[key] = otel::nostd::visit(
      [](const auto& held) -> std::string {
        using type = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<type, std::string> || std::is_arithmetic_v<type>)
          return fmt::format("{}", held);
        else
          return {}; // lists: a span has no way to set one
      },
      value);
  return texts;
}

finished_span finished(const sdk::SpanData& data) {
  finished_span ended;
  ended.trace_id = to_hex(data.GetTraceId().Id());
  ended.span_id = to_hex(data.GetSpanId().Id());
  if (data.GetParentSpanId().IsValid())
    ended.parent_id = to_hex(data.GetParentSpanId().Id());
  ended.name = std::string(data.GetName());
  ended.start = time_point(data.GetStartTime().time_since_epoch());
  ended.end = ended.start + data.GetDuration();
  ended.failed = data.GetStatus() == otel::trace::StatusCode::kError;
  ended.message = std::string(data.GetDescription());
  ended.attributes = as_text(data.GetAttributes());
  for (const auto& event : data.GetEvents())
    ended.events.push_back({event.GetName(), time_point(event.GetTimestamp().time_since_epoch()),
                            as_text(event.GetAttributes())});
  for (const auto& link : data.GetLinks())
    ended.links.push_back({to_hex(link.GetSpanContext().trace_id().Id()),
                           to_hex(link.GetSpanContext().span_id().Id())});
  return ended;
}

using span_batch = otel::nostd::span<std::unique_ptr<sdk::Recordable>>;

/// Hands plain values to a function, which says whether it took them.
class value_exporter final : public sdk::SpanExporter {
public:
  using sink = std::function<bool(std::vector<finished_span>)>;

  explicit value_exporter(sink out) : out_(std::move(out)) {}

  std::unique_ptr<sdk::Recordable> MakeRecordable() noexcept override {
    return std::make_unique<sdk::SpanData>();
  }

  ExportResult Export(const span_batch& batch) noexcept override {
    std::vector<finished_span> ended;
    ended.reserve(batch.size());
    for (const auto& recorded : batch)
      ended.push_back(finished(static_cast<const sdk::SpanData&>(*recorded)));
    return out_(std::move(ended)) ? ExportResult::kSuccess : ExportResult::kFailure;
  }

  bool ForceFlush(std::chrono::microseconds) noexcept override {
    return true;
  }

  bool Shutdown(std::chrono::microseconds) noexcept override {
    return true;
  }

private:
  sink out_;
};

std::atomic<std::uint64_t> dropped{0};

/// Counts what is not handed over, and bounds the time that stopping takes: the batch processor
/// drains its whole queue however long that takes.
class accounting_exporter final : public sdk::SpanExporter {
public:
  accounting_exporter(std::unique_ptr<sdk::SpanExporter> inner,
                      std::shared_ptr<export_control> control)
      : inner_(std::move(inner)), control_(std::move(control)) {}

  std::unique_ptr<sdk::Recordable> MakeRecordable() noexcept override {
    return inner_->MakeRecordable();
  }

  ExportResult Export(const span_batch& batch) noexcept override {
    const auto result = std::chrono::steady_clock::now() < control_->deadline.load()
                          ? inner_->Export(batch)
                          : ExportResult::kFailure;
    if (result != ExportResult::kSuccess)
      dropped.fetch_add(batch.size(), std::memory_order_relaxed);
    return result;
  }

  bool ForceFlush(std::chrono::microseconds timeout) noexcept override {
    return inner_->ForceFlush(timeout);
  }

  bool Shutdown(std::chrono::microseconds timeout) noexcept override {
    return inner_->Shutdown(timeout);
  }

private:
  std::unique_ptr<sdk::SpanExporter> inner_;
  std::shared_ptr<export_control> control_;
};

using exporter_or = absl::StatusOr<std::unique_ptr<sdk::SpanExporter>>;

exporter_or make_file_exporter(const std::string& path) {
  auto opened = span_file::open(path);
  if (!opened.ok())
    return opened.status();
  return std::make_unique<value_exporter>(
    [file = std::shared_ptr(*std::move(opened))](const std::vector<finished_span>& ended) {
      return file->append(ended);
    });
}

exporter_or make_grpc_exporter(const std::string& endpoint) {
  otel::exporter::otlp::OtlpGrpcExporterOptions options;
  options.timeout = export_timeout;
  if (!endpoint.empty()) {
    const auto parsed = parse_grpc_endpoint(endpoint);
    if (!parsed.ok())
      return parsed.status();
    options.endpoint = parsed->address;
    options.use_ssl_credentials = parsed->encrypted;
  }
  return otel::exporter::otlp::OtlpGrpcExporterFactory::Create(options);
}

exporter_or make_http_exporter(const std::string& endpoint) {
  otel::exporter::otlp::OtlpHttpExporterOptions options;
  options.timeout = export_timeout;
  if (!endpoint.empty()) {
    auto parsed = parse_http_endpoint(endpoint);
    if (!parsed.ok())
      return parsed.status();
    options.url = *std::move(parsed);
  }
  return otel::exporter::otlp::OtlpHttpExporterFactory::Create(options);
}

exporter_or make_bare_exporter(const tracing_options& options,
                               const std::shared_ptr<export_control>& control) {
  using exporter = tracing_options::exporter;
  switch (options.to) {
  case exporter::none:
    break;
  case exporter::stdout_text:
    return otel::exporter::trace::OStreamSpanExporterFactory::Create();
  case exporter::file:
    return make_file_exporter(options.path);
  case exporter::otlp_grpc:
    return make_grpc_exporter(options.endpoint);
  case exporter::otlp_http:
    return make_http_exporter(options.endpoint);
  case exporter::memory:
    return std::make_unique<value_exporter>([control](std::vector<finished_span> ended) {
      control->keep(std::move(ended));
      return true;
    });
  }
  return absl::InvalidArgumentError("there is no such trace exporter");
}

} // namespace

void export_control::keep(std::vector<finished_span> ended) {
  const std::lock_guard lock(guard_);
  std::move(ended.begin(), ended.end(), std::back_inserter(kept_));
}

std::vector<finished_span> export_control::take() {
  const std::lock_guard lock(guard_);
  return std::exchange(kept_, {});
}

absl::StatusOr<std::unique_ptr<sdk::SpanExporter>>
make_exporter(const tracing_options& options, std::shared_ptr<export_control> control) {
  auto bare = make_bare_exporter(options, control);
  if (!bare.ok())
    return bare.status();
  return std::make_unique<accounting_exporter>(*std::move(bare), std::move(control));
}

std::uint64_t dropped_spans() {
  return dropped.load(std::memory_order_relaxed);
}

} // namespace reprieve
