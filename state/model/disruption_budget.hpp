#pragma once

#include "state/quantities/resources.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace reprieve {

/// How many of the pods with these labels may be missing at a time. Exactly one bound is set.
struct disruption_budget {
  std::string name;
  std::string resource_group = "default";
  string_map match_labels; ///< all must be on the pod
  std::optional<std::int32_t> min_available;
  std::optional<std::int32_t> max_unavailable;

  bool operator==(const disruption_budget&) const = default;
};

/// Whether every pair of `selector` is in `labels`.
bool matches(const string_map& selector, const string_map& labels);

/// How many more pods may go, when `running` of `expected` matching pods run.
std::int64_t disruptions_allowed(const disruption_budget& budget, std::int64_t expected,
                                 std::int64_t running);

} // namespace reprieve
