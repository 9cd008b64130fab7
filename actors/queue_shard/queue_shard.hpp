#pragma once

#include "actors/durability/ledger.hpp"
#include "actors/interfaces/followers.hpp"
#include "actors/interfaces/queue_quota.hpp"
#include "state/model/catalog.hpp"
#include "state/model/object.hpp"
#include "state/records/quota_record.hpp"
#include "state/records/set_aside.hpp"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace reprieve {

/// The durable queues, classes and resource groups, whenever one of them changes.
struct catalog_update {
  std::shared_ptr<const catalog> known;
  std::set<std::string> unfinished{}; ///< resource groups whose contents did not come yet
  revision at = 0;                    ///< where it stood so in the store
  bool of_bundle = false;             ///< shards may have parts of the same change
  std::vector<set_aside> aside{};     ///< what can't be read; of queues, one like new stands there
};

/// Admitted queues, priority classes and resource groups.
struct put_catalog {
  std::vector<object> objects;
  /// More is to come with its resource groups, which go again where that does not.
  bool unfinished = false;
  std::vector<apply_outcome> told{}; ///< what becomes of each; it is refused where that is not so

  bool operator==(const put_catalog&) const = default;
};

struct remove_catalog {
  object_kind kind = object_kind::queue;
  std::vector<std::string> names;

  bool operator==(const remove_catalog&) const = default;
};

/// How many nodes resource groups have.
struct groups_counted {
  by_name<std::int64_t> nodes;
};

/// Asks how the queues stand.
struct read_queues {};

/// The shard's reminder to itself that the queue stage is due; bursts of changes share one.
struct run_stage {};

} // namespace reprieve

REPRIEVE_MESSAGE(reprieve::catalog_update)
REPRIEVE_MESSAGE(reprieve::groups_counted)

namespace reprieve {

/// Who places the groups' shards by their sizes.
using group_counter_actor = typed_actor<handles<void(groups_counted)>>;

using catalog_follower_actor = typed_actor<handles<void(catalog_update)>>;

struct follow_catalog {
  catalog_follower_actor follower;
};

} // namespace reprieve

REPRIEVE_MESSAGE(reprieve::put_catalog)
REPRIEVE_MESSAGE(reprieve::remove_catalog)
REPRIEVE_MESSAGE(reprieve::lend<reprieve::put_catalog>)
REPRIEVE_MESSAGE(reprieve::lend<reprieve::remove_catalog>)
REPRIEVE_MESSAGE(reprieve::read_queues)
REPRIEVE_MESSAGE(reprieve::run_stage)
REPRIEVE_MESSAGE(reprieve::by_name<reprieve::queue_status>)
REPRIEVE_MESSAGE(reprieve::follow_catalog)

namespace reprieve {

/// Owns one queue tree and the classes and groups that are configured with it. Resource groups meet
/// only here: it runs the queue stage over all of them whenever what they use or want has changed,
/// and grants each its part of what the queues are allocated.
using queue_shard_actor = typed_actor<
  /// Adds or changes what admission let through; answers when durable.
  handles<absl::Status(put_catalog)>,
  /// Takes entries away; answers when durable.
  handles<absl::Status(remove_catalog)>,
  /// Likewise where others write it.
  handles<lent_result(lend<put_catalog>)>, handles<lent_result(lend<remove_catalog>)>,
  handles<absl::Status(lent_end)>,
  /// Sends the follower the catalog now and after every change.
  handles<void(follow_catalog)>,
  /// From a coordinator: whom to grant to, in place of whoever had the group before.
  handles<void(follow_quota)>,
  /// From a coordinator: what its group has, uses and wants.
  handles<void(quota_report)>,
  /// How the queues stood when the stage ran last.
  handles<by_name<queue_status>(read_queues)>, handles<absl::Status(confirm_ownership)>>;

/// With what the shard reminds itself of.
using private_queue_shard_actor =
  queue_shard_actor::extend<handles<void(run_stage)>, handles<void(ledger_flush)>,
                            handles<void(ledger_retry)>>;

struct queue_shard_settings {
  std::string tree;
  catalog known;                    ///< as the store has it
  std::set<std::string> unfinished; ///< resource groups, likewise
  by_name<quota_record> quota;
  ledger_settings ledger;
  wall_clock clock;
  group_counter_actor counter; ///< is told of sizes, where there is one
  objects_aside aside{};
};

struct queue_shard_state {
  static inline const char* name = "queue_shard";

  std::string tree;
  std::shared_ptr<const catalog> known;
  catalog newest;                   ///< with the writes under way
  std::set<std::string> unfinished; ///< resource groups of which more is to come
  objects_aside aside;
  reprieve::ledger ledger;
  std::vector<catalog_follower_actor> followers;
  wall_clock clock;

  /// A resource group that takes part.
  struct participant {
    quota_holder_actor holder;
    quota_report told;
    bool has_told = false;
    revision epoch = 0;        ///< of the newest coordinator that has spoken
    std::uint64_t holders = 0; ///< counts who had the group; answers of earlier ones do not count
    by_name<resources> asked_down; ///< by queue, to what, where it was granted more
    std::uint64_t told_grants = 0; ///< how often it was told what it may spend
    bool lowering = false;         ///< was asked to do with less, and that is not durable yet
  };
  by_name<participant> groups;
  by_name<quota_record> quota;        ///< as they are durable
  by_name<quota_record> newest_quota; ///< with the writes under way
  by_name<queue_status> statuses;     ///< as the stage found them last
  group_counter_actor counter;
  bool stage_due = false;
  bool stage_runs = false; ///< waits for pods or for its writes
};

using queue_shard_pointer = private_queue_shard_actor::stateful_pointer<queue_shard_state>;

private_queue_shard_actor::behavior_type queue_shard(queue_shard_pointer self,
                                                     queue_shard_settings settings);

} // namespace reprieve
