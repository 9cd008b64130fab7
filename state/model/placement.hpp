#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace reprieve {

/// A node that is to have room for one more replica, and the uids of who is to make it there.
struct nominated_room {
  std::string node;
  std::vector<std::string> victims;

  bool operator==(const nominated_room&) const = default;
};

/// What it takes in a record, about.
inline std::size_t bytes_of(const nominated_room& one) {
  constexpr std::size_t around = 16;
  auto bytes = one.node.size() + around;
  for (const auto& uid : one.victims)
    bytes += uid.size() + around;
  return bytes;
}

/// A deployment's share in one cluster whose own scheduler places the pods
/// (docs/policies.md#lifecycle). We set how many replicas are committed; how many are assigned, and
/// which pods, the cluster says.
struct placement {
  std::string name;
  std::string deployment; ///< the workload
  std::string cluster;    ///< the resource group that stands for the cluster
  std::int32_t committed = 0;
  std::int32_t assigned = 0;
  std::int64_t score = 0;
  /// Makes room for a more important one, or did and still does: it gets no more replicas until it
  /// has no such pods.
  bool preempted = false;
  std::vector<nominated_room> nominations; ///< for replicas that are not committed yet

  std::int32_t surplus() const {
    return assigned > committed ? assigned - committed : 0;
  }
  bool operator==(const placement&) const = default;
};

/// The name of the placement that is made for a deployment that has none in its cluster. Others
/// have no dot in their names.
inline std::string own_placement_name(std::string_view deployment, std::string_view cluster) {
  return std::string(deployment).append(1, '.').append(cluster);
}

} // namespace reprieve
