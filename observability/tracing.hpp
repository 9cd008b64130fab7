#pragma once

#include "observability/finished_span.hpp"
#include "state/model/decision.hpp"

#include <absl/status/status.h>

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace reprieve {

struct tracing_options {
  enum class exporter {
    none,
    stdout_text,
    file, ///< one line of JSON for each span
    otlp_grpc,
    otlp_http,
    memory, ///< for tests: see take_finished_spans()
  };

  exporter to = exporter::none;
  std::string endpoint{}; ///< of the collector; empty for what OTLP's environment variables say
  std::string path{};     ///< of the file
  std::string service_name = "reprieved";
  std::string instance{};       ///< tells replicas of the service apart
  int sampled_per_mille = 1000; ///< of the traces that begin here; others go by their parent
};

/// Refuses options that can't work, and to start twice.
absl::Status start_tracing(const tracing_options& options);

/// Hands over what has ended and switches tracing off. Takes a few seconds at most, even where the
/// collector does not answer. A span that ends later is lost.
void stop_tracing();

bool tracing_enabled();

/// How many spans the exporter could not hand over since the process began. Over HTTP only those
/// lost in stopping: the SDK's exporter logs its failures, but reports success.
std::uint64_t dropped_spans();

/// A piece of work in a trace. Parents are passed explicitly: work moves between threads here, so
/// nothing is kept per thread. One thread at a time may use a span; it may end on any.
class span {
public:
  /// Does nothing, and has an empty context.
  span();
  /// Ends it.
  ~span();
  span(span&& other) noexcept;
  span& operator=(span&& other) noexcept;

  /// What children and links refer to, also after the end. While tracing is off, this is the
  /// parent's, so that a trace passes through.
  trace_context context() const;

  void set(std::string_view key, std::string_view value);

  /// Numbers and truth values. A template, for `bool` would otherwise take string literals.
  template <std::integral T>
  void set(std::string_view key, T value) {
    if constexpr (std::same_as<T, bool>)
      set_flag(key, value);
    else
      set_number(key, static_cast<std::int64_t>(value));
  }

  /// Something that happened, now.
  void event(std::string_view name,
             std::initializer_list<std::pair<std::string_view, std::string>> attributes = {});

  /// Marks the span as failed, and says why.
  void fail(std::string_view message);

  /// Once ended, it takes nothing more.
  void end();

private:
  struct recording;

  span(std::unique_ptr<recording> recorded, trace_context passed_on);

  void set_number(std::string_view key, std::int64_t value);
  void set_flag(std::string_view key, bool value);

  std::unique_ptr<recording> recording_; ///< nothing while tracing is off
  trace_context passed_on_;

  friend span start_span_at(time_point, std::string_view, trace_context,
                            const std::vector<trace_context>&);
};

/// Without a valid parent, a new trace begins. Links that are not valid are left out.
span start_span(std::string_view name, trace_context parent = {},
                const std::vector<trace_context>& links = {});

/// A span over something that began in the past, such as waiting.
span start_span_at(time_point start, std::string_view name, trace_context parent = {},
                   const std::vector<trace_context>& links = {});

/// 32 hex digits, or empty where the context is not valid.
std::string trace_id_of(const trace_context& context);

/// What has ended since the last call, in the order of ending, with the exporter `memory`.
std::vector<finished_span> take_finished_spans();

} // namespace reprieve
