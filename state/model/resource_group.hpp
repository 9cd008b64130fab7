#pragma once

#include "state/quantities/time.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace reprieve {

/// Which rules choose the victims in a resource group (docs/policies.md).
enum class group_policy { workload_aware, lifecycle, sessions };

/// Which of two running sessions of equal priority goes first (docs/policies.md#sessions).
enum class preemption_order { oldest, newest };

/// How victims are picked on a required node (docs/policies.md#required-node); later entries are
/// fallbacks.
enum class victim_strategy { single, multiple };

/// What the score puts first once priorities and cascades are equal.
enum class minimise { pods, work };

/// Limits that are off unless set (docs/policies.md#guards). The queue stage looks at each pod once
/// whatever happens, so that no search budget applies there.
struct guards {
  duration minimum_runtime{0};
  bool opt_out_is_veto = false;
  std::optional<std::int32_t> victims_per_decision;
  std::optional<std::int32_t> preemptions_per_workload_per_hour;
  std::optional<std::int64_t> search_budget; ///< work units per domain

  bool operator==(const guards&) const = default;
};

/// Settings of the required-node policy (docs/policies.md#required-node).
struct required_node_settings {
  duration preemption_start_delay{0};
  std::vector<victim_strategy> strategies{victim_strategy::single, victim_strategy::multiple};
  std::int32_t deviation_percent = 10;
  std::int32_t max_victims = 10;

  bool operator==(const required_node_settings&) const = default;
};

/// A pool of nodes and the settings in force there.
struct resource_group {
  std::string name;
  group_policy policy = group_policy::workload_aware;
  std::int32_t preemptible_priority = 5;
  preemption_order order = preemption_order::oldest;
  minimise minimised = minimise::pods;
  required_node_settings required_node;
  duration force_delete_after{std::chrono::seconds{30}}; ///< past the grace period
  /// Longest that a node with an agent may be silent; 0 where nobody is watched.
  duration heartbeat_timeout{std::chrono::seconds{40}};
  /// After which the pods of a lost node are lost as well; 0 where they stay as they are.
  duration lost_node_timeout{std::chrono::minutes{5}};
  std::optional<std::int32_t> preemption_priority_gap; ///< most it may exceed the priority by
  /// Resources that queues share in fractions where others are shared in whole units: `gpu`.
  std::vector<std::string> divisible;
  guards limits;

  bool operator==(const resource_group&) const = default;
};

} // namespace reprieve
