#pragma once

#include "preemption/policies/lifecycle/lifecycle_cycle.hpp"
#include "preemption/snapshot/snapshot.hpp"

#include <functional>
#include <string>
#include <string_view>

namespace reprieve {

/// What the phase decides on, taken from a snapshot: every deployment, since it has to know their
/// priorities; those that do not seek anything lack no replicas.
lifecycle_input lifecycle_of(const snapshot& taken,
                             const std::function<bool(std::string_view deployment)>& seeks,
                             time_point now);

/// What a cycle in one cluster runs on, as its coordinator would.
lifecycle_cycle_input lifecycle_cycle_of(const snapshot& taken, const std::string& cluster,
                                         time_point now);

} // namespace reprieve
