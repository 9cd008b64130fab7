#pragma once

#include "state/quantities/time.hpp"

#include <compare>
#include <cstdint>

namespace reprieve {

/// What is known of a portion without looking at its pods: the card of
/// docs/protocol.md#two-phase-commit. Pods that leave do not count in it.
struct portion_card {
  std::int32_t priority = 0; ///< its preemption priority: the highest of its pods
  std::uint32_t pods = 0;    ///< that are not leaving, wherever they run
  time_point earliest_start = no_time;
  duration minimum_runtime{0}; ///< that its workload asks for
  bool group = false;          ///< a whole PodGroup replica
  bool evictable = true;       ///< false where a pod of it is a protected member
  bool daemon = false;         ///< a pod of it is one
  bool opted_out = false;      ///< a pod of it has
  bool arriving = false;       ///< a pod of it is nominated: a decision is placing it

  bool operator==(const portion_card&) const = default;
};

/// What is lost when a portion goes: of each GPU what it did since its work was safe.
struct portion_work {
  std::int64_t gpu = 0;        ///< thousandths at work, in all
  std::int64_t safe_until = 0; ///< second since the epoch, rounded up; the mean over the GPUs

  bool operator==(const portion_work&) const = default;
};

/// What some of a portion's pods make of it. Parts on disjoint nodes add up to the whole, but for
/// the second by which `safe_until` may be later.
struct portion_part {
  portion_card card;
  portion_work work;

  bool operator==(const portion_part&) const = default;
};
portion_part sum_of(const portion_part& a, const portion_part& b);

/// Less where `a` comes first in the importance order (docs/policies.md#workload-aware step 5); ids
/// break ties.
std::strong_ordering by_importance(const portion_card& a, const portion_card& b);

} // namespace reprieve
