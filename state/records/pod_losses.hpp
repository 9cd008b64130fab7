#pragma once

#include "state/records/workload_record.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// What a workload remembers of pods that it lost with machines, which no decision tells. It stands
/// in its status as the condition `PodsLost`: a sentence for each loss, the newest last.
namespace reprieve {

/// A pod that was lost.
struct lost_pod {
  pod_slot slot;
  std::uint32_t incarnation = 0;
  std::string node;
  bool forgotten = false; ///< the machine is there and does not know it any more

  bool operator==(const lost_pod&) const = default;
};

/// So many losses are remembered, with the names of so many pods each.
inline constexpr std::size_t losses_remembered = 20;
inline constexpr std::size_t lost_pods_named = 20;

/// Takes note of the loss, before the places of those pods are given to others (`lose_slots`).
/// Those that have lost their places already are left out, so that doing it again changes nothing.
void note_losses(workload_record& record, std::span<const lost_pod> lost, time_point now);

/// What is remembered, oldest first; of a pod of that name alone, where one is given.
std::vector<std::string> losses_of(const workload_status& status, std::string_view pod = {});

} // namespace reprieve
