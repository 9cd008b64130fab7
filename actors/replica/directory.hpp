#pragma once

#include "actors/coordinator/coordinator.hpp"
#include "protocol/records/records.hpp"

#include <map>
#include <memory>
#include <string>

namespace reprieve {

/// Who serves what: the shards and the coordinator of every resource group.
struct directory {
  struct group {
    group_shards shards;
    coordinator_actor coordinator;
  };

  schema_record schema;
  std::string replica; ///< whose it is, and since when: no other process has ever had the same
  bool alone = true;   ///< whether there can be no other replica
  queue_shard_actor queues;
  event_log_actor events;
  store_actor store;
  std::map<std::string, group, std::less<>> groups;
};

/// Whether the same actors serve by either.
bool serve_alike(const directory& a, const directory& b);

/// A new directory, whenever somebody else serves something.
struct directory_update {
  std::shared_ptr<const directory> serving;
};

} // namespace reprieve

REPRIEVE_MESSAGE(reprieve::directory_update)

namespace reprieve {

using directory_follower_actor = typed_actor<handles<void(directory_update)>>;

} // namespace reprieve
