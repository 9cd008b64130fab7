#pragma once

#include "state/model/catalog.hpp"
#include "state/quantities/resources.hpp"

#include <absl/status/status.h>

#include <string_view>

namespace reprieve {

/// What the pods of each queue take, its children's not included.
using usage_by_queue = by_name<resources>;

/// What the queue and all below it take.
resources used_below(const by_name<queue>& queues, const usage_by_queue& usage,
                     std::string_view name);

/// Whether `wanted` more in the queue stays within its limit and those of its parents.
absl::Status within_limits(const by_name<queue>& queues, const usage_by_queue& usage,
                           std::string_view name, const resources& wanted);

/// Adds every amount of `more` to `to`; amounts were checked at admission.
void add_to(resources& to, const resources& more);

} // namespace reprieve
