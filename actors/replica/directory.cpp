#include "actors/replica/directory.hpp"

#include <algorithm>

namespace reprieve {

bool serve_alike(const directory& a, const directory& b) {
  const auto alike = [](const auto& one, const auto& other) {
    return one.first == other.first && one.second.coordinator == other.second.coordinator
           && one.second.shards.nodes == other.second.shards.nodes
           && one.second.shards.workloads == other.second.shards.workloads;
  };
  return a.queues == b.queues && a.events == b.events && a.store == b.store
         && std::ranges::equal(a.groups, b.groups, alike);
}

} // namespace reprieve
