#pragma once

#include "actors/store_door.hpp"
#include "protocol/records.hpp"
#include "state/store.hpp"

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace reprieve {

/// Writes that become durable together or, where they are too many for one transaction, in order.
/// Without any it asks for what was asked before to be durable.
struct ledger_write {
  std::vector<operation> writes;
};

/// The ledger's reminder to itself that something waits for its fate.
struct ledger_retry {
  enum kind { batch, confirmation } what = batch;
};

/// Whose writes the ledger makes, and on what ground they are allowed.
struct ledger_settings {
  std::string shard;
  std::string owner_key; ///< the record of the replica that owns the shard
  revision epoch = 0;    ///< its modification revision; every write compares it
  std::int64_t sequence = 0;
  revision sequence_revision = 0; ///< of the shard's sequence key, 0 where it is absent
  store_door_actor store;
};

} // namespace reprieve

REPRIEVE_MESSAGE(reprieve::ledger_write)
REPRIEVE_MESSAGE(reprieve::ledger_retry)

namespace reprieve {

/// Group commit for one shard: one batch in flight, the next gathers meanwhile. Each batch compares
/// the owner's epoch and advances the shard's sequence key, so that a late duplicate fails and a
/// lost answer can be resolved by trying the same batch again.
///
/// When the shard turns out to be somebody else's, every write is answered with `kAborted` and the
/// ledger ends.
using ledger_actor = typed_actor<
  /// Answers when all of it is durable, in the order of the requests.
  handles<absl::Status(ledger_write)>,
  /// From itself: try the batch in flight again.
  handles<void(ledger_retry)>>;

struct ledger_state {
  static inline const char* name = "ledger";

  struct entry {
    operation write;
    std::uint64_t request = 0;
  };

  ledger_settings settings;
  std::string writer; ///< tells this ledger's batches from those of others
  std::deque<entry> waiting;
  std::uint64_t last_request = 0;
  std::deque<std::pair<std::uint64_t, promise<absl::Status>>> requests;
  transaction in_flight;
  std::uint64_t in_flight_until = 0; ///< requests up to this one are whole when it is durable
  bool busy = false;
  /// Wait to hear that the shard is still this ledger's, as they have nothing to write that would
  /// tell.
  std::vector<promise<absl::Status>> unconfirmed;
};

ledger_actor::behavior_type ledger(ledger_actor::stateful_pointer<ledger_state> self,
                                   ledger_settings settings);

/// The operation that brings the key to the record's bytes, or erases it where there is no record.
template <class Record>
operation write_of(std::string key, const Record* next) {
  if (next == nullptr)
    return erase{just(std::move(key))};
  return put{std::move(key), encode(*next), 0};
}

/// Writes through the ledger in `self`'s state and goes on with `then` when it is durable. A shard
/// that can't write any more ends: it is started again from the store, here or elsewhere. Where
/// there is nothing to write, what made that so may still be on its way, and is waited for.
template <class Self, class F>
void write_then(Self self, std::vector<operation> writes, F then) {
  self->request(self->state.ledger, caf::infinite, ledger_write{std::move(writes)})
    .then([self, then = std::move(then)](absl::Status& written) mutable {
      if (written.ok())
        then();
      else
        self->quit(lost_ownership());
    });
}

} // namespace reprieve
