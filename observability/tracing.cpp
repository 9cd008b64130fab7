#include "observability/tracing.hpp"

#include "observability/trace_exporters.hpp"
#include "observability/traceparent.hpp"

#include <fmt/format.h>
#include <opentelemetry/context/context.h>
#include <opentelemetry/sdk/common/global_log_handler.h>
#include <opentelemetry/sdk/trace/batch_span_processor_factory.h>
#include <opentelemetry/sdk/trace/batch_span_processor_options.h>
#include <opentelemetry/sdk/trace/exporter.h>
#include <opentelemetry/sdk/trace/processor.h>
#include <opentelemetry/sdk/trace/samplers/parent_factory.h>
#include <opentelemetry/sdk/trace/samplers/trace_id_ratio_factory.h>
#include <opentelemetry/sdk/trace/simple_processor_factory.h>
#include <opentelemetry/sdk/trace/tracer_provider.h>
#include <opentelemetry/sdk/trace/tracer_provider_factory.h>
#include <opentelemetry/trace/propagation/http_trace_context.h>
#include <opentelemetry/trace/span.h>
#include <opentelemetry/trace/tracer.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>

namespace reprieve {

namespace {

namespace otel = opentelemetry;
namespace sdk = opentelemetry::sdk::trace;
namespace api = opentelemetry::trace;

using attribute_list =
  std::vector<std::pair<otel::nostd::string_view, otel::common::AttributeValue>>;

/// How long stopping goes on sending.
constexpr std::chrono::seconds stop_timeout{3};

otel::nostd::string_view view(std::string_view text) {
  return {text.data(), text.size()};
}

std::unique_ptr<sdk::SpanProcessor> make_processor(tracing_options::exporter to,
                                                   std::unique_ptr<sdk::SpanExporter> exporter) {
  using enum tracing_options::exporter;
  if (to == memory || to == stdout_text)
    return sdk::SimpleSpanProcessorFactory::Create(std::move(exporter));
  sdk::BatchSpanProcessorOptions options;
  options.max_queue_size = 8192;
  options.max_export_batch_size = 512;
  options.schedule_delay_millis = std::chrono::milliseconds(to == file ? 200 : 1000);
  return sdk::BatchSpanProcessorFactory::Create(std::move(exporter), options);
}

otel::sdk::resource::Resource make_resource(const tracing_options& options) {
  otel::sdk::resource::ResourceAttributes attributes{{"service.name", options.service_name}};
  if (!options.instance.empty())
    attributes["service.instance.id"] = options.instance;
  return otel::sdk::resource::Resource::Create(attributes);
}

struct pipeline {
  std::unique_ptr<sdk::TracerProvider> provider;
  otel::nostd::shared_ptr<api::Tracer> tracer;
  std::shared_ptr<export_control> control;
};

std::mutex guard;
std::shared_ptr<pipeline> in_force; // under `guard`
std::atomic<bool> enabled{false};   // the same, without a lock while tracing is off

std::shared_ptr<pipeline> current() {
  if (!enabled.load(std::memory_order_acquire))
    return nullptr;
  const std::lock_guard lock(guard);
  return in_force;
}

api::SpanContext parsed(const trace_context& context) {
  using api::propagation::HttpTraceContext;
  const auto parts = parse_traceparent(context.traceparent);
  if (!parts)
    return api::SpanContext::GetInvalid();
  return {HttpTraceContext::TraceIdFromHex(view(parts->trace_id)),
          HttpTraceContext::SpanIdFromHex(view(parts->span_id)),
          HttpTraceContext::TraceFlagsFromHex(view(parts->flags)), true,
          context.tracestate.empty() ? api::TraceState::GetDefault()
                                     : api::TraceState::FromHeader(view(context.tracestate))};
}

api::StartSpanOptions options_for(time_point start, const api::SpanContext& parent) {
  api::StartSpanOptions options;
  if (parent.IsValid())
    options.parent = parent;
  else // or the SDK would look for one in the thread's own context
    options.parent = otel::context::Context(api::kIsRootSpanKey, true);
  if (start != no_time) {
    // The duration is measured on the steady clock, which must be set back as far.
    const auto now = std::chrono::system_clock::now();
    const auto began = std::min<time_point>(start, now);
    options.start_system_time = otel::common::SystemTimestamp(began);
    options.start_steady_time =
      otel::common::SteadyTimestamp(std::chrono::steady_clock::now() - (now - began));
  }
  return options;
}

} // namespace

absl::Status start_tracing(const tracing_options& options) {
  if (options.sampled_per_mille < 0 || options.sampled_per_mille > 1000)
    return absl::InvalidArgumentError(
      fmt::format("the share of traces to sample is given per mille, from 0 to 1000, not {}",
                  options.sampled_per_mille));
  if (options.to == tracing_options::exporter::none)
    return absl::OkStatus();

  const std::lock_guard lock(guard);
  if (in_force)
    return absl::FailedPreconditionError("tracing has been started already; stop it first");
  auto control = std::make_shared<export_control>();
  auto exporter = make_exporter(options, control);
  if (!exporter.ok())
    return exporter.status();

  // The SDK warns once for each span that finds the queue full: too much, just when load is high.
  otel::sdk::common::internal_log::GlobalLogHandler::SetLogLevel(
    otel::sdk::common::internal_log::LogLevel::Error);
  auto provider = sdk::TracerProviderFactory::Create(
    make_processor(options.to, *std::move(exporter)), make_resource(options),
    sdk::ParentBasedSamplerFactory::Create(
      sdk::TraceIdRatioBasedSamplerFactory::Create(options.sampled_per_mille / 1000.0)));
  auto tracer = provider->GetTracer("reprieve");
  in_force = std::make_shared<pipeline>(
    pipeline{std::move(provider), std::move(tracer), std::move(control)});
  enabled.store(true, std::memory_order_release);
  return absl::OkStatus();
}

void stop_tracing() {
  std::shared_ptr<pipeline> stopped;
  {
    const std::lock_guard lock(guard);
    enabled.store(false, std::memory_order_release);
    stopped = std::exchange(in_force, nullptr);
  }
  if (!stopped)
    return;
  stopped->control->deadline.store(std::chrono::steady_clock::now() + stop_timeout);
  stopped->provider->Shutdown(stop_timeout);
}

bool tracing_enabled() {
  return enabled.load(std::memory_order_acquire);
}

struct span::recording {
  otel::nostd::shared_ptr<api::Span> live;
};

span::span() = default;
span::~span() = default; // the SDK's span ends when its last reference goes
span::span(span&& other) noexcept = default;
span& span::operator=(span&& other) noexcept = default;

span::span(std::unique_ptr<recording> recorded, trace_context passed_on)
    : recording_(std::move(recorded)), passed_on_(std::move(passed_on)) {}

trace_context span::context() const {
  if (!recording_)
    return passed_on_;
  const auto own = recording_->live->GetContext();
  return {fmt::format("00-{}-{}-{:02x}", to_hex(own.trace_id().Id()), to_hex(own.span_id().Id()),
                      own.trace_flags().flags()),
          own.trace_state()->ToHeader()};
}

void span::set(std::string_view key, std::string_view value) {
  if (recording_)
    recording_->live->SetAttribute(view(key), view(value));
}

void span::set_number(std::string_view key, std::int64_t value) {
  if (recording_)
    recording_->live->SetAttribute(view(key), value);
}

void span::set_flag(std::string_view key, bool value) {
  if (recording_)
    recording_->live->SetAttribute(view(key), value);
}

void span::event(std::string_view name,
                 std::initializer_list<std::pair<std::string_view, std::string>> attributes) {
  if (!recording_)
    return;
  attribute_list converted;
  for (const auto& [key, value] : attributes)
    converted.emplace_back(view(key), view(value));
  recording_->live->AddEvent(view(name), converted);
}

void span::fail(std::string_view message) {
  if (recording_)
    recording_->live->SetStatus(api::StatusCode::kError, view(message));
}

void span::end() {
  if (recording_)
    recording_->live->End();
}

span start_span(std::string_view name, trace_context parent,
                const std::vector<trace_context>& links) {
  return start_span_at(no_time, name, std::move(parent), links);
}

span start_span_at(time_point start, std::string_view name, trace_context parent,
                   const std::vector<trace_context>& links) {
  const auto using_now = current();
  if (!using_now)
    return {nullptr, std::move(parent)};
  std::vector<std::pair<api::SpanContext, attribute_list>> linked;
  for (const auto& link : links)
    if (auto to = parsed(link); to.IsValid())
      linked.emplace_back(std::move(to), attribute_list{});
  auto live = using_now->tracer->StartSpan(view(name), attribute_list{}, linked,
                                           options_for(start, parsed(parent)));
  return {std::make_unique<span::recording>(span::recording{std::move(live)}), {}};
}

std::string trace_id_of(const trace_context& context) {
  const auto parts = parse_traceparent(context.traceparent);
  return parts ? std::string(parts->trace_id) : std::string();
}

std::vector<finished_span> take_finished_spans() {
  const auto using_now = current();
  return using_now ? using_now->control->take() : std::vector<finished_span>();
}

} // namespace reprieve
