#pragma once

#include <cstdint>
#include <string>

namespace reprieve {

enum class preemption_policy { preempt_lower_priority, never };

struct priority_class {
  std::string name;
  std::int32_t value = 0;
  bool global_default = false; ///< the class of a workload that names none; at most one has it
  preemption_policy policy = preemption_policy::preempt_lower_priority;

  bool operator==(const priority_class&) const = default;
};

/// The two classes that exist from the start, and the highest value that others may have.
inline constexpr std::int32_t system_node_critical_value = 2'000'001'000;
inline constexpr std::int32_t system_cluster_critical_value = 2'000'000'000;
inline constexpr std::int32_t highest_user_priority = 1'000'000'000;

const priority_class& system_node_critical();
const priority_class& system_cluster_critical();

} // namespace reprieve
