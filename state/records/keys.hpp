#pragma once

#include "state/quantities/time.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace reprieve {

/// Where records stand in the store (docs/architecture.md#state-in-the-store). Names hold no slash,
/// so keys parse by slashes.
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
/// What a shard has promised to write with a batch of that number, in chunks.
std::string promise(std::string_view shard, std::int64_t batch, std::uint32_t chunk);
/// All that it has promised, be it with a batch that was committed or not.
std::string promises_of(std::string_view shard);
/// The batch's number, and that of the chunk.
std::pair<std::int64_t, std::uint32_t> promised_by(std::string_view promise_key);

std::string node(std::string_view shard, std::string_view name);
/// What may still run on a node of the shard that was deleted by force.
std::string left_behind(std::string_view shard, std::string_view node);
std::string workload(std::string_view shard, std::string_view name);
std::string budget(std::string_view shard, std::string_view name);
std::string placement(std::string_view shard, std::string_view name);
/// Slots of workloads that their own records have no room for.
inline constexpr std::string_view slot_pages = "slots/";
std::string slot_page(std::string_view shard, std::string_view workload, std::uint32_t number);
/// The workload that such a key belongs to, and the page's number.
std::pair<std::string_view, std::uint32_t> page_at(std::string_view key);

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
/// There while what came in one file with the resource group is not written yet.
std::string unfinished_group(std::string_view tree, std::string_view name);

inline constexpr std::string_view open_decisions = "d/open/";
inline constexpr std::string_view decision_bodies = "d/body/";
/// Finished decisions of stores that were written before schema version 5, by the hour they ended
/// in. They are moved to where the others are.
inline constexpr std::string_view done_decisions = "d/done/";
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
std::string done_decision(time_point ended, std::string_view id);

/// Decisions whose chunks are written before the key that commits them, for as long as that is not.
inline constexpr std::string_view drafts = "d/draft/";
std::string draft(std::string_view id);

// -- the archive of finished decisions ------------------------------------------------------------

/// The archive as a whole.
inline constexpr std::string_view archive = "d/archive";
/// How much of it ended in which hour.
inline constexpr std::string_view archive_hours = "d/hour/";
std::string archive_hour(std::int64_t hour);
std::int64_t hour_of_archive(std::string_view hour_key);
/// Finished decisions by the second they ended in, the oldest first.
inline constexpr std::string_view ended_decisions = "d/ended/";
std::string ended_decision(time_point ended, std::string_view id);
/// Where those stand that ended at that second, or later.
std::string ended_since(time_point when);
/// When the decision of such a key ended, in whole seconds.
time_point end_of(std::string_view ended_key);
/// The head of a finished decision, behind its chunks.
std::string finished_head(std::string_view id);
bool is_finished_head(std::string_view body_key);
/// The finished decisions that concern a workload, newest first.
std::string decisions_of(std::string_view workload);
std::string decision_of(std::string_view workload, time_point decided, std::string_view id);
/// When the decision of such a key was decided, in whole seconds.
time_point decided_of(std::string_view index_key);

/// The part behind the last slash.
std::string_view last_part(std::string_view key);

} // namespace keys

/// Which of its resource group's virtual shards holds `name`. The number of shards is fixed when a
/// cluster is created, so that a name never moves.
std::uint32_t shard_number(std::string_view name, std::uint32_t shards);

/// The k-th virtual shard of a group, such as `default.3`.
std::string shard_name(std::string_view group, std::uint32_t k);

/// The group of a virtual shard of this name.
std::string group_of_shard(std::string_view shard);

} // namespace reprieve
