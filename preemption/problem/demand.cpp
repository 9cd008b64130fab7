#include "preemption/problem/demand.hpp"

#include <algorithm>

namespace reprieve {

demand demand_of(const cluster_view& view, const preemptor& who) {
  demand asked;
  for (const auto& group : who.groups) {
    if (group.pods.empty())
      continue;
    const auto& requests = group.pods.front().requests;
    auto columns = view.columns(requests);
    if (!columns) {
      const auto unknown = std::ranges::find_if(requests, [&](const auto& one) {
        return !view.columns({{one.first, one.second}});
      });
      return {{}, unknown->first};
    }
    const auto needed = std::clamp<std::int64_t>(group.needed, 0, std::ssize(group.pods));
    asked.groups.push_back({&group, *std::move(columns), static_cast<std::size_t>(needed)});
  }
  return asked;
}

} // namespace reprieve
