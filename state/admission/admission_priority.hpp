#pragma once

#include "state/model/catalog.hpp"
#include "state/model/workload.hpp"

#include <cstdint>
#include <vector>

namespace reprieve {

/// The scale of priorities in groups with the sessions policy (docs/policies.md#sessions).
inline constexpr std::int32_t lowest_session_priority = 0;
inline constexpr std::int32_t highest_session_priority = 100;
inline constexpr std::int32_t default_session_priority = 10;

/// The numbers that a workload's priorities come to, ready for its status.
struct resolved_priorities {
  resolved_priority whole;
  std::vector<resolved_priority> by_group; ///< in the order of `workload::groups`

  bool operator==(const resolved_priorities&) const = default;
};

/// Priority: the class's value, else the number, else the global default, else 0, or 10 in a group
/// with the sessions policy; the scale there is for admission to check.
/// Preemption priority: likewise class, else number, else the priority.
///
/// A pod group's own class or number counts instead of the workload's; its preemption priority is
/// the workload's where that says one, else the group's priority.
///
/// `existing` is the status of the workload where it is admitted again: its priority stays what it
/// was, even when another class has become the global default since.
///
/// Names that the catalog doesn't know count as not given: admission refuses them.
resolved_priorities resolve_priorities(const workload& w, const catalog& known,
                                       const workload_status* existing = nullptr);

} // namespace reprieve
