#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace reprieve {

/// A unit of preemption: one pod, or all pods of one PodGroup replica (`index` absent, -1).
struct portion_id {
  std::string workload;
  std::string group;
  std::int32_t replica = 0;
  std::int32_t index = -1;

  bool whole_replica() const {
    return index < 0;
  }
  auto operator<=>(const portion_id&) const = default;
};

/// `workload/group/replica` or `workload/group/replica/index`.
std::string to_string(const portion_id& id);

} // namespace reprieve
