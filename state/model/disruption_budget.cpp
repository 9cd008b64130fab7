#include "state/model/disruption_budget.hpp"

#include <algorithm>

namespace reprieve {

bool matches(const string_map& selector, const string_map& labels) {
  return std::all_of(selector.begin(), selector.end(), [&](const auto& wanted) {
    const auto found = labels.find(wanted.first);
    return found != labels.end() && found->second == wanted.second;
  });
}

std::int64_t disruptions_allowed(const disruption_budget& budget, std::int64_t expected,
                                 std::int64_t running) {
  const std::int64_t floor = budget.min_available ? std::int64_t{*budget.min_available}
                                                  : expected - budget.max_unavailable.value_or(0);
  return std::max<std::int64_t>(0, running - floor);
}

} // namespace reprieve
