#pragma once

#include "state/time.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace reprieve {

/// Where records stand in the store (DESIGN 5). Names hold no slash, so keys parse by slashes.
namespace keys {

inline constexpr std::string_view schema = "meta/schema";
/// There while the store is being filled from a backup: nobody may serve from it then.
inline constexpr std::string_view restoring = "meta/restoring";

/// Which replica should own what.
inline constexpr std::string_view shard_owners = "meta/owners";
/// Written whenever a replica comes to own something or gives it up, so that no two do so without
/// knowing of each other.
inline constexpr std::string_view ownership = "meta/ownership";

/// Records of living processes.
inline constexpr std::string_view owners = "own/";
std::string owner(std::string_view replica);
std::string sequence(std::string_view shard);

std::string node(std::string_view shard, std::string_view name);
/// What may still run on a node of the shard that was deleted by force.
std::string left_behind(std::string_view shard, std::string_view node);
std::string workload(std::string_view shard, std::string_view name);
std::string budget(std::string_view shard, std::string_view name);
std::string placement(std::string_view shard, std::string_view name);

/// Whoever takes the name for its record writes this key, which is one for all resource groups.
inline constexpr std::string_view names = "names/";
/// The one that goes with the key of a node, workload, budget or placement.
std::string name_of(std::string_view record_key);
/// The shard that such a key belongs to, without its kind.
std::string_view shard_of(std::string_view record_key);

std::string queue(std::string_view tree, std::string_view name);
std::string priority_class(std::string_view tree, std::string_view name);
std::string resource_group(std::string_view tree, std::string_view name);
std::string quota(std::string_view tree, std::string_view queue);

inline constexpr std::string_view open_decisions = "d/open/";
inline constexpr std::string_view done_decisions = "d/done/";
inline constexpr std::string_view decision_bodies = "d/body/";
/// Those that were aborted while nobody knew what became of their commit: it must not come late.
/// Behind the open ones, so that nobody reads them by the way.
inline constexpr std::string_view barred_decisions = "d/over/";
std::string open_decision(std::string_view id);
std::string barred_decision(std::string_view id);
std::string decision_body(std::string_view id, std::uint32_t chunk);
/// All chunks of one decision.
std::string bodies_of(std::string_view id);
/// The decision that a chunk belongs to.
std::string_view decision_of_body(std::string_view key);
/// Finished decisions stand by the hour they ended in, so that old ones go by ranges.
std::string done_decision(time_point ended, std::string_view id);

/// The part behind the last slash.
std::string_view last_part(std::string_view key);

} // namespace keys

/// Which of its resource group's virtual shards holds `name`. The number of shards is fixed when a
/// cluster is created, so that a name never moves.
std::uint32_t shard_number(std::string_view name, std::uint32_t shards);

/// The k-th virtual shard of a group, such as `default.3`.
std::string shard_name(std::string_view group, std::uint32_t k);

} // namespace reprieve
