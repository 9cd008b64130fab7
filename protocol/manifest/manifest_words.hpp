#pragma once

#include "state/model/decision.hpp"
#include "state/model/node.hpp"
#include "state/model/pod.hpp"
#include "state/model/priority_class.hpp"
#include "state/model/resource_group.hpp"
#include "state/model/workload.hpp"
#include "state/records/workload_record.hpp"

#include <array>
#include <cstddef>
#include <string_view>
#include <type_traits>

namespace reprieve {

/// How manifests spell the values of an enum, in the order in which it declares them.
template <class Enum>
inline constexpr std::array<std::string_view, 0> words_of{};

template <>
inline constexpr std::array<std::string_view, 2> words_of<taint_effect>{"NoSchedule", "NoExecute"};

template <>
inline constexpr std::array<std::string_view, 2> words_of<preemption_policy>{"PreemptLowerPriority",
                                                                             "Never"};

template <>
inline constexpr std::array<std::string_view, 3> words_of<group_policy>{"WorkloadAware",
                                                                        "Lifecycle", "Sessions"};

template <>
inline constexpr std::array<std::string_view, 2> words_of<preemption_order>{"oldest", "newest"};

template <>
inline constexpr std::array<std::string_view, 2> words_of<victim_strategy>{"single", "multiple"};

template <>
inline constexpr std::array<std::string_view, 2> words_of<minimise>{"pods", "work"};

template <>
inline constexpr std::array<std::string_view, 5> words_of<workload_kind>{
  "batch", "inference", "interactive", "daemon", "deployment"};

template <>
inline constexpr std::array<std::string_view, 2> words_of<disruption_mode>{"Pod", "PodGroup"};

template <>
inline constexpr std::array<std::string_view, 3> words_of<resume_policy>{"ByKind", "Always",
                                                                         "Never"};

template <>
inline constexpr std::array<std::string_view, 8> words_of<pod_phase>{
  "Pending", "Nominated", "Bound", "Running", "Surplus", "Terminating", "ForceDeleting", "Gone"};

template <>
inline constexpr std::array<std::string_view, 4> words_of<slot_state>{"Wanted", "Stopped",
                                                                      "Succeeded", "Failed"};

template <>
inline constexpr std::array<std::string_view, 5> words_of<decision_phase>{
  "Preparing", "Committed", "Starting", "Done", "Aborted"};

/// The word for `value`.
template <class Enum>
requires std::is_enum_v<Enum>
constexpr std::string_view word_for(Enum value) {
  return words_of<Enum>[static_cast<std::size_t>(value)];
}

} // namespace reprieve
