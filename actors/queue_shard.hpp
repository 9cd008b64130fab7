#pragma once

#include "actors/decision_protocol.hpp"
#include "actors/ledger.hpp"
#include "actors/record_table.hpp"
#include "state/catalog.hpp"
#include "state/object.hpp"
#include "state/queue_limits.hpp"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace reprieve {

/// The durable queues, classes and resource groups, whenever one of them changes.
struct catalog_update {
  std::shared_ptr<const catalog> known;
};

/// Admitted queues, priority classes and resource groups.
struct put_catalog {
  std::vector<object> objects;
};

struct remove_catalog {
  object_kind kind = object_kind::queue;
  std::vector<std::string> names;
};

/// What the pods of one resource group take in each queue; summed up from the node records.
struct queue_usage {
  std::string resource_group;
  usage_by_queue used;
};

/// Asks for all groups' usage together.
struct read_usage {};

} // namespace reprieve

REPRIEVE_MESSAGE(reprieve::catalog_update)

namespace reprieve {

using catalog_follower_actor = typed_actor<handles<void(catalog_update)>>;

struct follow_catalog {
  catalog_follower_actor follower;
};

} // namespace reprieve

REPRIEVE_MESSAGE(reprieve::put_catalog)
REPRIEVE_MESSAGE(reprieve::remove_catalog)
REPRIEVE_MESSAGE(reprieve::queue_usage)
REPRIEVE_MESSAGE(reprieve::read_usage)
REPRIEVE_MESSAGE(reprieve::usage_by_queue)
REPRIEVE_MESSAGE(reprieve::follow_catalog)

namespace reprieve {

/// Owns one queue tree and the classes and groups that are configured with it. Resource groups meet
/// only here: it sees to it that together they stay within the queues' limits.
using queue_shard_actor = typed_actor<
  /// Adds or changes what admission let through; answers when durable.
  handles<absl::Status(put_catalog)>,
  /// Takes entries away; answers when durable.
  handles<absl::Status(remove_catalog)>,
  /// Sends the follower the catalog now and after every change.
  handles<void(follow_catalog)>,
  /// Takes in what a group uses.
  handles<void(queue_usage)>,
  /// What all groups use.
  handles<usage_by_queue(read_usage)>,
  /// Votes whether the queues have room for a decision. A yes counts it as used until the group
  /// tells its usage again.
  handles<absl::Status(prepare<queue_parts>)>>;

struct queue_shard_settings {
  std::string tree;
  catalog known; ///< as the store has it
  ledger_settings ledger;
};

struct queue_shard_state {
  static inline const char* name = "queue_shard";

  std::string tree;
  std::shared_ptr<const catalog> known;
  catalog newest; ///< with the writes under way
  ledger_actor ledger;
  std::map<std::string, usage_by_queue, std::less<>> usage; ///< by resource group
  std::vector<catalog_follower_actor> followers;
};

queue_shard_actor::behavior_type
queue_shard(queue_shard_actor::stateful_pointer<queue_shard_state> self,
            queue_shard_settings settings);

} // namespace reprieve
