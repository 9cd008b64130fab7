#pragma once

#include "state/quantities/resources.hpp"
#include "state/quantities/time.hpp"

#include <string>
#include <vector>

namespace reprieve {

struct span_event {
  std::string name;
  time_point at = no_time;
  string_map attributes;

  bool operator==(const span_event&) const = default;
};

/// Another span that this one has to do with, without being its child.
struct span_link {
  std::string trace_id;
  std::string span_id;

  bool operator==(const span_link&) const = default;
};

/// All that is known of a span once it has ended. Ids are hex digits, attributes text.
struct finished_span {
  std::string trace_id;
  std::string span_id;
  std::string parent_id; ///< empty for the first span of a trace
  std::string name;
  time_point start = no_time;
  time_point end = no_time;
  bool failed = false;
  std::string message; ///< why it failed
  string_map attributes;
  std::vector<span_event> events;
  std::vector<span_link> links;

  bool operator==(const finished_span&) const = default;
};

} // namespace reprieve
