#pragma once

#include "actors/ownership.hpp"
#include "actors/planted_bug.hpp"
#include "actors/store_door.hpp"
#include "protocol/records.hpp"
#include "state/keys.hpp"
#include "state/store.hpp"

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace reprieve {

/// The shard's reminder to itself to write what has gathered by now.
struct ledger_flush {};

/// The shard's reminder to itself that something waits for its fate.
struct ledger_retry {
  enum kind { batch, confirmation } what = batch;
};

/// Asks whether the shard is surely still its owner's: answers when all is told that was durable
/// before the question came.
struct confirm_ownership {
  bool operator==(const confirm_ownership&) const = default;
};

/// A key and what makes the bytes that it gets; without that the key goes. They are made when the
/// batch goes out: of a record that changes again before, only the last form is.
struct ledger_entry {
  std::string key;
  std::function<std::string()> value;
  /// Its name comes or goes with it. It can't come while a shard of another resource group has it.
  bool changes_name = false;
};

/// What a batch takes at most, with its sequence key.
struct batch_limits {
  std::size_t operations = store_limits::operations;
  std::size_t bytes = store_limits::bytes;
};

/// Whose writes the ledger makes, and on what ground they are allowed.
struct ledger_settings {
  std::string shard;
  ownership_pointer owner; ///< the replica that owns the shard; every write compares its epoch
  std::int64_t sequence = 0;
  revision sequence_revision = 0;    ///< of the shard's sequence key, 0 where it is absent
  std::set<std::string> carried_out; ///< as the sequence key has them
  store_door_actor store;
  batch_limits limits;
};

} // namespace reprieve

REPRIEVE_MESSAGE(reprieve::confirm_ownership)
REPRIEVE_MESSAGE(reprieve::ledger_flush)
REPRIEVE_MESSAGE(reprieve::ledger_retry)

namespace reprieve {

/// Group commit for one shard: one batch in flight, the next gathers meanwhile. Each batch compares
/// the owner's epoch and advances the shard's sequence key, so that a late duplicate fails and a
/// lost answer can be resolved by trying the same batch again. Requests become durable in their
/// order, each as a whole unless it is too large for one transaction; of a key that several of them
/// write, only the last form is written.
///
/// The actor's state has it as `ledger`, and the actor handles `ledger_flush` and `ledger_retry`.
/// When the shard turns out to be somebody else's, every request is answered with `kAborted`. So it
/// is when a name that one of them takes was taken in another resource group just before: that is
/// rare, as gateways look first, and the shard begins anew from the store then.
///
/// What the store refuses to take at all, as it is too large, is answered with `kInvalidArgument`:
/// that request alone, and those behind it that go on from what it would have written.
struct ledger {
  using answer = std::function<void(const absl::Status&)>;

  struct request {
    std::vector<ledger_entry> writes;
    answer done;
    std::string carries_out;
    std::size_t written = 0; ///< how many of them earlier batches had
    std::size_t durable = 0; ///< how many of these the store has
  };

  ledger() = default;
  explicit ledger(ledger_settings with);

  ledger_settings settings;
  std::string writer; ///< tells this ledger's batches from those of others
  std::deque<request> waiting;
  transaction in_flight;
  std::vector<request> in_flight_for; ///< that are whole when it is durable
  std::size_t one_by_one = 0; ///< that go out by themselves, as one of them can't be written
  /// Open decisions that were carried out by a request's writes; durable with the last of these.
  std::set<std::string> carried_out;
  bool busy = false;     ///< a batch or an aside is in flight
  bool is_aside = false; ///< which of the two
  bool flush_due = false;
  /// A transaction of other keys that goes by itself, between batches. It is made when its turn
  /// comes, and may not be wanted any more then.
  struct aside {
    std::function<std::optional<transaction>()> make;
    std::function<void(transaction_answer&)> done;
  };
  std::deque<aside> asides;
  /// Wait to hear that the shard is still this ledger's, as they have nothing to write that would
  /// tell.
  std::vector<answer> unconfirmed;
};

/// What is answered to `confirm_ownership`.
absl::Status confirm(const ledger& of);

/// Whether one transaction takes all of them. Costs making their bytes, where there are several.
bool fits_one_batch(const ledger& of, const std::vector<ledger_entry>& writes);

/// Moves as much as one transaction takes from the waiting requests into `in_flight`.
void fill_batch(ledger& of);

/// Has the batch in flight compare the owner's epoch of now; false where it did so already.
bool take_new_epoch(ledger& of);

/// Whether the shard's sequence key, as found, was written by the batch in flight.
bool is_written_by(const ledger& of, const range_result& found);

/// Answers all that are whole with the batch in flight, or all there are.
void answer_written(ledger& of);
void answer_all(ledger& of, const absl::Status& why);

/// The store does not take the batch in flight, and has written nothing of it. What is in it goes
/// out again one by one; where it was one request, that is answered so. False where a part of it is
/// written already, so that what the store has is not what anybody asked for.
bool refuse_batch(ledger& of, const absl::Status& why);

// -- what the shard's actor does with it ----------------------------------------------------------

namespace detail {

template <class Self>
void send_batch(Self self);
template <class Self>
void write_batch(Self self);
template <class Self>
void send_aside(Self self);

inline constexpr std::chrono::milliseconds ledger_retry_delay{100};

template <class Self>
void try_ledger_again(Self self, ledger_retry what = ledger_retry{ledger_retry::batch}) {
  self->delayed_send(self, ledger_retry_delay, what);
}

/// Nothing is in flight: what waits is next.
template <class Self>
void go_on_writing(Self self) {
  auto& of = self->state.ledger;
  if (of.busy)
    return;
  if (!of.asides.empty())
    send_aside(self);
  else if (!of.waiting.empty())
    send_batch(self);
}

template <class Self>
void batch_is_durable(Self self, revision at) {
  auto& of = self->state.ledger;
  ++of.settings.sequence;
  of.settings.sequence_revision = at;
  of.busy = false;
  answer_written(of);
  go_on_writing(self);
}

template <class Self>
void lose_ledger(Self self) {
  auto& of = self->state.ledger;
  answer_all(of, absl::AbortedError("shard " + of.settings.shard
                                    + " has another owner now, or a name of its is taken"));
}

/// A comparison failed: either this very batch arrived before, or the owner has another epoch, or
/// the shard is not ours any more, or a name is not free.
template <class Self>
void resolve_batch(Self self) {
  const auto& settings = self->state.ledger.settings;
  self
    ->request(settings.store, caf::infinite,
              range_request{just(keys::sequence(settings.shard)), 0, 0, false})
    .then(
      [self](range_answer& answer) {
        // Before the epoch is read, which is the new one when a change has ended.
        const bool changing = self->state.ledger.settings.owner->is_changing();
        if (!answer.ok())
          try_ledger_again(self);
        else if (is_written_by(self->state.ledger, *answer))
          batch_is_durable(self, answer->values.front().modified);
        else if (take_new_epoch(self->state.ledger))
          write_batch(self);
        else if (changing)
          try_ledger_again(self);
        else
          lose_ledger(self);
      },
      [self](caf::error&) { try_ledger_again(self); });
}

/// The store does not take the batch in flight.
template <class Self>
void refuse_in_flight(Self self, const absl::Status& why) {
  auto& of = self->state.ledger;
  of.busy = false;
  if (refuse_batch(of, why))
    go_on_writing(self);
  else
    answer_all(of, absl::AbortedError(why.message()));
}

/// Sends the batch in flight until its fate is known; a repetition can't be applied twice because
/// the sequence key has moved on by then.
template <class Self>
void write_batch(Self self) {
  auto& of = self->state.ledger;
  self->request(of.settings.store, caf::infinite, of.in_flight)
    .then(
      [self](transaction_answer& answer) {
        if (answer.ok() && answer->succeeded)
          batch_is_durable(self, answer->current);
        else if (answer.ok())
          resolve_batch(self);
        else if (absl::IsInvalidArgument(answer.status()))
          refuse_in_flight(self, answer.status());
        else
          try_ledger_again(self);
      },
      [self](caf::error&) { try_ledger_again(self); });
}

template <class Self>
void send_batch(Self self) {
  auto& of = self->state.ledger;
  of.busy = true;
  fill_batch(of);
  write_batch(self);
}

/// It compares the sequence key, which every batch moves on. Where nobody knows what became of it,
/// a batch goes first that keeps it from arriving later.
template <class Self>
void send_aside(Self self) {
  auto& of = self->state.ledger;
  auto [make, done] = std::move(of.asides.front());
  of.asides.pop_front();
  auto writes = make();
  if (!writes) {
    go_on_writing(self);
    return;
  }
  of.busy = of.is_aside = true;
  writes->comparisons.push_back(of.settings.owner->held());
  writes->comparisons.push_back(
    {keys::sequence(of.settings.shard), compared::modified, of.settings.sequence_revision});
  const auto answered = [self, done = std::move(done)](transaction_answer answer) {
    auto& ledger = self->state.ledger;
    ledger.busy = ledger.is_aside = false;
    if (may_arrive_late(answer.status())) {
      ledger.waiting.push_front(
        {{}, [done, answer](const absl::Status&) mutable { done(answer); }, {}});
      send_batch(self);
      return;
    }
    done(answer);
    go_on_writing(self);
  };
  self->request(of.settings.store, caf::infinite, *std::move(writes))
    .then([answered](transaction_answer& answer) { answered(answer); },
          [answered](caf::error& error) { answered(to_status(error)); });
}

/// Asks the store whether the shard is still ours, for all who wait for that.
template <class Self>
void confirm_ledger(Self self) {
  const auto& settings = self->state.ledger.settings;
  const auto epoch = settings.owner->epoch();
  self
    ->request(settings.store, caf::infinite,
              transaction{{{settings.owner->key(), compared::modified, epoch}}, {}})
    .then(
      [self, epoch](transaction_answer& answer) {
        const auto& owner = *self->state.ledger.settings.owner;
        if (!answer.ok() || (!answer->succeeded && owner.may_try_again(epoch))) {
          try_ledger_again(self, {ledger_retry::confirmation});
          return;
        }
        if (!answer->succeeded) {
          lose_ledger(self);
          return;
        }
        for (const auto& done : std::exchange(self->state.ledger.unconfirmed, {}))
          done(absl::OkStatus());
      },
      [self](caf::error&) { try_ledger_again(self, {ledger_retry::confirmation}); });
}

} // namespace detail

/// Calls `done` when all writes are durable, and with them that they carry out a decision, if they
/// do. Without any it asks for what was asked before to be.
template <class Self>
void write(Self self, std::vector<ledger_entry> writes, ledger::answer done,
           std::string carries_out = {}) {
  auto& of = self->state.ledger;
  if (writes.empty() && carries_out.empty() && of.waiting.empty()) {
    if (of.busy && !of.is_aside) {
      of.in_flight_for.push_back({{}, std::move(done), {}});
      return;
    }
    of.unconfirmed.push_back(std::move(done));
    if (of.unconfirmed.size() == 1)
      detail::confirm_ledger(self);
    return;
  }
  of.waiting.push_back({std::move(writes), std::move(done), std::move(carries_out)});
  // What waits in the mailbox joins: the more there is to do, the more goes into one batch.
  if (!of.busy && !std::exchange(of.flush_due, true))
    self->send(self, ledger_flush{});
}

/// Carries out a transaction of keys that the ledger does not write, as soon as no batch is in
/// flight and if it is wanted then. It can't arrive after anything that the shard writes later.
template <class Self>
void write_aside(Self self, std::function<std::optional<transaction>()> make,
                 std::function<void(transaction_answer&)> done) {
  self->state.ledger.asides.push_back({std::move(make), std::move(done)});
  if (!self->state.ledger.busy)
    detail::go_on_writing(self);
}

template <class Self>
void flush_ledger(Self self) {
  auto& of = self->state.ledger;
  of.flush_due = false;
  if (!of.busy && !of.waiting.empty())
    detail::send_batch(self);
}

/// Only what failed is done again: a batch that is sent twice is answered twice, and the second
/// answer would be taken for that of the next.
template <class Self>
void retry_ledger(Self self, ledger_retry due) {
  if (due.what == ledger_retry::batch)
    detail::write_batch(self);
  else
    detail::confirm_ledger(self);
}

/// Brings the key to the record's bytes, or erases it where there is no record.
template <class Record>
ledger_entry write_of(std::string key, std::shared_ptr<const Record> next) {
  if (!next)
    return {std::move(key), {}, false};
  return {std::move(key), [next = std::move(next)] { return encode(*next); }, false};
}

template <class Record>
ledger_entry write_of(std::string key, const Record* next) {
  return write_of(std::move(key),
                  next == nullptr ? nullptr : std::make_shared<const Record>(*next));
}

/// Writes and goes on with `then` when it is durable, or with `refused` where the store does not
/// take it. A shard that can't write any more ends: it is started again from the store, here or
/// elsewhere. Where there is nothing to write, what made that so may still be on its way, and is
/// waited for.
template <class Self, class F, class Refused>
void write_then(Self self, std::vector<ledger_entry> writes, F then, std::string carries_out,
                Refused refused) {
  write(
    self, std::move(writes),
    [self, then = std::move(then),
     refused = std::move(refused)](const absl::Status& written) mutable {
      if (written.ok())
        then();
      else if (absl::IsInvalidArgument(written))
        refused(written);
      else
        self->quit(can_not_go_on(std::string(written.message())));
    },
    std::move(carries_out));
}

} // namespace reprieve
