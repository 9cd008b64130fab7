#include "state/records/cluster_snapshot.hpp"

#include <map>
#include <string_view>

namespace reprieve {

void cluster_snapshot::recount_placements() {
  std::map<std::string_view, const placement*> recounted;
  for (const auto& group : groups)
    for (const auto& one : group.recounted)
      recounted.emplace(one.name, &one);
  for (auto& one : placements)
    if (const auto found = recounted.find(one.name); found != recounted.end())
      one = *found->second;
}

} // namespace reprieve
