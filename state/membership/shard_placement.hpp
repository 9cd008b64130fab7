#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

/// Which replica should own what (docs/architecture.md#ownership). What can be owned is named like
/// the keys that belong to it: `q/main`, `n/default.3`, `w/default.0`; `c/default` is the
/// coordinator.
namespace reprieve {

/// How many node shards a resource group may have, and as many workload shards.
inline constexpr std::int32_t most_shards = 1024;

std::string coordinator_of(std::string_view group);

/// A resource group as far as its size matters.
struct group_size {
  std::string name;
  std::uint32_t node_shards = 1;
  std::uint32_t workload_shards = 1;
  std::int64_t nodes = 0;

  bool operator==(const group_size&) const = default;
};

/// All that can be owned of a group.
std::vector<std::string> shards_of(const group_size& group);

using shard_owners = std::map<std::string, std::string>; ///< replicas by what they own

/// Places every group whole on one replica; one with more nodes than `nodes_per_replica` keeps its
/// coordinator, its workload shards and as many node shards as that together, and the others spill
/// over, one by one.
///
/// What has a replica keeps it unless that one is gone, or has too much and others could have a
/// good part of that: then, and at first, it goes to the replica that rendezvous hashing puts first
/// among those with room. So a replica that comes is given about its share, one that goes gives up
/// what it had, and all else stays where it is, also when some nodes come or go.
shard_owners place_shards(const std::vector<group_size>& groups,
                          const std::set<std::string>& replicas, const shard_owners& now,
                          std::int64_t nodes_per_replica);

} // namespace reprieve
