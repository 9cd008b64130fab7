#pragma once

#include "actors/durability/ownership.hpp"
#include "actors/durability/store_actor.hpp"
#include "protocol/records/records.hpp"
#include "state/membership/membership_rules.hpp"

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace reprieve {

/// Be a member from now on; again and again, should the membership be lost.
struct join_members {
  revision epoch_base = 0; ///< of the store's schema
};

/// What this replica owns, by which it has to start and stop its actors.
struct ownership_update {
  std::shared_ptr<const membership> known;
  /// Of all that it owns; another one after it was lost.
  std::shared_ptr<reprieve::ownership> ownership;
  std::set<std::string> taken;   ///< to be started from the store
  std::set<std::string> to_stop; ///< to be ended, and then told in `shards_stopped`
};

/// The lease ran out, or this process can't be a member any more: nothing is owned.
struct ownership_lost {
  std::string why;
  bool for_good = false; ///< another process has its name, or it does not know the records
};

/// These have ended and write nothing any more.
struct shards_stopped {
  std::set<std::string> shards;
};

/// Something about what it owns begins anew, and writes of before must not count
/// (docs/protocol.md#two-phase-commit).
struct renew_epoch {};

/// The resource groups there are; told by who owns the queue tree, which places their shards.
struct group_sizes {
  std::vector<group_size> groups;
};

/// Give up everything, then be no member any more.
struct leave_members {};

/// From the store's threads.
struct lease_granted {
  std::uint64_t term = 0;
  absl::StatusOr<lease_id> lease;
};
struct lease_ended {
  std::uint64_t term = 0;
};
struct members_changed {
  absl::StatusOr<watch_batch> batch;
};

/// A reminder to itself.
struct look_at_members {};

} // namespace reprieve

REPRIEVE_MESSAGE(reprieve::join_members)
REPRIEVE_MESSAGE(reprieve::ownership_update)
REPRIEVE_MESSAGE(reprieve::ownership_lost)
REPRIEVE_MESSAGE(reprieve::shards_stopped)
REPRIEVE_MESSAGE(reprieve::renew_epoch)
REPRIEVE_MESSAGE(reprieve::group_sizes)
REPRIEVE_MESSAGE(reprieve::leave_members)
REPRIEVE_MESSAGE(reprieve::lease_granted)
REPRIEVE_MESSAGE(reprieve::lease_ended)
REPRIEVE_MESSAGE(reprieve::members_changed)
REPRIEVE_MESSAGE(reprieve::look_at_members)

namespace reprieve {

/// Who is told what to own.
using owner_actor = typed_actor<handles<void(ownership_update)>, handles<void(ownership_lost)>>;

/// A replica's place among the others: its lease, its owner record, and what it owns by it. Every
/// change of that is one write of the record, which no other replica's comes between, and then has
/// another epoch (docs/architecture.md#ownership).
using membership_actor =
  typed_actor<handles<void(join_members)>,
              /// From the replica.
              handles<void(shards_stopped)>,
              /// From the replica.
              handles<void(renew_epoch)>,
              /// From the replica that owns the queue tree.
              handles<void(group_sizes)>,
              /// Answers when nothing is owned and nobody waits for the lease to run out.
              handles<absl::Status(leave_members)>>;

/// With what the membership's own calls of the store tell it, and what it reminds itself of.
using private_membership_actor =
  membership_actor::extend<handles<void(lease_granted)>, handles<void(lease_ended)>,
                           handles<void(members_changed)>, handles<void(look_at_members)>>;

struct membership_settings {
  std::string name;
  std::string address;
  std::string api;
  duration lease_time{std::chrono::seconds{5}};
  std::int64_t nodes_per_replica = 50'000;
  std::int32_t schema = schema_version;       ///< the newest that it knows
  std::shared_ptr<reprieve::store> raw_store; ///< for leases and watches
  store_actor store;                          ///< for reads and writes
  owner_actor owner;
  wall_clock clock;
  std::string secret{}; ///< that replicas show who dial this one
};

/// The lease that the replica's record is bound to.
struct member_lease {
  enum phases { none, asked, held };

  std::uint64_t term = 0; ///< counts leases: what is said of an earlier one does not count
  phases phase = none;
  lease_id id = 0; ///< 0 while none is held
};

/// What the store says of the members and of what they should own.
struct members_read {
  enum phases {
    idle,
    due, ///< something may have changed since it was read
    under_way,
    under_way_and_outdated, ///< something may have changed since it began
  };

  phases reading = idle;
  bool since_lease = false; ///< whether that was read since the lease is held
  membership known;
  schema_record schema;
  revision schema_at = 0; ///< of its key
  revision table_at = 0;  ///< of the key that says who should own what
  revision change_at = 0; ///< of the key that every change of ownership writes
  std::unique_ptr<watch_handle> watched_members;
  std::unique_ptr<watch_handle> watched_table;
  std::unique_ptr<watch_handle> watched_schema;

  bool is_under_way() const {
    return reading == under_way || reading == under_way_and_outdated;
  }
};

/// This replica's record, and what it owns by it.
struct own_record {
  std::shared_ptr<reprieve::ownership> ownership; ///< null while there is no record
  /// A write of it whose fate is not known yet, and what is owned by it.
  std::optional<transaction> under_way;
  std::set<std::string> owned_by_it;
  bool is_sent = false;     ///< and not answered
  bool needs_epoch = false; ///< whether the epoch has to be another
};

/// Shards of this replica that others should own.
struct stopping_shards {
  std::set<std::string> told;  ///< to stop
  std::set<std::string> ended; ///< of these
};

struct membership_state {
  static inline const char* name = "membership";

  membership_settings settings;
  time_point started = no_time;
  revision epoch_base = 0;
  member_lease lease;
  members_read read;
  own_record own;
  stopping_shards stopping;
  std::optional<std::vector<group_size>> groups;
  /// Whether something is written that others see: the record, the table, the schema or the end of
  /// the lease.
  bool is_writing = false;
  std::optional<promise<absl::Status>> leaving; ///< to be answered when nothing is owned
};

using membership_pointer = private_membership_actor::stateful_pointer<membership_state>;

private_membership_actor::behavior_type keep_membership(membership_pointer self,
                                                        membership_settings settings);

} // namespace reprieve
