#pragma once

#include "state/membership/shard_placement.hpp"
#include "state/store/store.hpp"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace reprieve {

/// The one queue tree there is, as something to be owned.
inline constexpr std::string_view queue_tree = "main";
inline constexpr std::string_view queue_tree_shard = "q/main";

/// A replica whose record is there: it is alive, or was a moment ago.
struct member {
  std::string address; ///< for the other replicas
  std::string api;
  revision joined = 0; ///< when its record was created
  revision epoch = 0;  ///< of all that it owns
  lease_id lease = 0;
  std::set<std::string> owned;
  std::int32_t schema = 0; ///< the newest version of the records that it knows
  bool readable = true;    ///< else what it owns is not known
  std::string secret{};    ///< to be shown to it by other replicas

  bool operator==(const member&) const = default;
};

/// What the store says about who owns what, at one revision.
struct membership {
  std::map<std::string, member> members;     ///< by name
  shard_owners wanted;                       ///< who should own what
  std::map<std::string, std::int64_t> nodes; ///< of resource groups, when that was found
  std::int32_t schema = 0;                   ///< the version of the records

  /// Who owns it; empty where nobody does.
  std::string owner_of(std::string_view shard) const;
};

/// What a replica should do about what it owns.
struct ownership_steps {
  std::set<std::string> take; ///< nobody has these, and they are its own to have
  std::set<std::string> stop; ///< it has these, and somebody else should

  bool operator==(const ownership_steps&) const = default;
};

/// Where a record can't be read, nobody knows what is free, and nothing is taken.
///
/// The queue tree goes to whoever joined first of those that are there; all else to whom the table
/// names. A replica that leaves gives up all it has, and one that is not there has nothing.
ownership_steps next_steps(const membership& known, const std::string& replica, bool leaving);

/// Who may own shards: whoever knows the version of the records.
std::set<std::string> able_members(const membership& known);

/// The version that the records may have, as every member knows it; never an earlier one than they
/// have.
std::int32_t schema_to_use(const membership& known);

} // namespace reprieve
