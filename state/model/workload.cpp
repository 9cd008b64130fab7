#include "state/model/workload.hpp"

namespace reprieve {

std::int64_t pod_count(const workload& w) {
  std::int64_t total = 0;
  for (const auto& group : w.groups)
    total += std::int64_t{group.count} * group.replicas;
  return total;
}

portion_id portion_of(const workload& w, const pod_group& group, std::int32_t replica,
                      std::int32_t index) {
  const bool whole = group.disruption == disruption_mode::pod_group;
  return {w.name, group.name, replica, whole ? -1 : index};
}

std::optional<std::size_t> group_position(const workload& w, std::string_view group) {
  for (std::size_t i = 0; i < w.groups.size(); ++i)
    if (w.groups[i].name == group)
      return i;
  return std::nullopt;
}

const pod_group* group_named(const workload& w, std::string_view group) {
  const auto position = group_position(w, group);
  return position ? &w.groups[*position] : nullptr;
}

} // namespace reprieve
