#pragma once

#include "actors/durability/ownership.hpp"
#include "actors/durability/promised_writes.hpp"
#include "actors/durability/store_actor.hpp"
#include "actors/interfaces/planted_bug.hpp"
#include "protocol/records/records.hpp"
#include "state/admission/admission.hpp"
#include "state/model/requests.hpp"
#include "state/records/keys.hpp"
#include "state/store/store.hpp"

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace reprieve {

/// The shard's reminder to itself to write what has gathered by now.
struct ledger_flush {};

/// The shard's reminder to itself that something waits for its fate.
struct ledger_retry {
  enum kind { batch, confirmation, lent, promise } what = batch;
  std::int64_t sequence = 0; ///< of a batch that was lent
};

/// Asks whether the shard is surely still its owner's: answers when all is told that was durable
/// before the question came.
struct confirm_ownership {
  bool operator==(const confirm_ownership&) const = default;
};

/// Do this, but leave the writing to whoever asks: what several shards lend for one bundle is
/// written in one transaction, or not at all. Until `lent_end` tells which, the shard writes
/// nothing else. What is much is promised first, and what is lent is the promise.
template <class Change>
struct lend {
  std::string bundle;
  Change change;
  bool promised = false; ///< however little it is

  bool operator==(const lend&) const = default;
};

/// The shard's resource group goes, if nothing is in it; or these go, if nothing in it names them.
struct close_shard {
  object_kind kind = object_kind::resource_group;
  std::vector<std::string> names{}; ///< empty where it is its own resource group

  bool operator==(const close_shard&) const = default;
};

/// What a shard would have written.
struct lent_batch {
  transaction writes;
};
using lent_result = absl::StatusOr<lent_batch>;

/// What became of what was lent for a bundle. Answered when the shard is done with it: ok where it
/// is written, `kCancelled` where it is not.
struct lent_end {
  enum kind { written, refused, unknown } how = unknown;
  std::string bundle;
  revision at = 0; ///< where it is written

  bool operator==(const lent_end&) const = default;
};

/// A key and what makes the bytes that it gets; without that the key goes. They are made when the
/// batch goes out: of a record that changes again before, only the last form is.
struct ledger_entry {
  std::string key;
  std::function<std::string()> value;
  /// Its name comes or goes with it. It can't come while a shard of another resource group has it.
  bool changes_name = false;
};

/// What goes along with a request's writes.
struct write_terms {
  write_terms(std::string decision = {}, std::string bundle = {}) // NOLINT: most have the first
      : carries_out(std::move(decision)), lent_for(std::move(bundle)) {}

  std::string carries_out; ///< the decision that they carry out
  std::string lent_for;    ///< the bundle that is written by others with these in it
};

/// Hears what became of a change.
using status_answer = std::function<void(const absl::Status&)>;

inline status_answer answer_to(promise<absl::Status> asked) {
  return [asked = std::move(asked)](const absl::Status& how) { asked.deliver(how); };
}

/// Whether the object comes to what whoever applies it is told of the one at `index`; nothing is
/// told where `told` is empty.
template <class T>
bool is_as_told(const std::vector<apply_outcome>& told, std::size_t index, const T* before,
                const T& next) {
  return index >= told.size() || told[index] == outcome_over(before, next);
}

/// The answer where it does not: somebody else was first, and nothing was changed.
absl::Status came_in_between();

/// Whose writes the ledger makes, and on what ground they are allowed.
struct ledger_settings {
  std::string shard;
  ownership_pointer owner; ///< the replica that owns the shard; every write compares its epoch
  std::int64_t sequence = 0;
  revision sequence_revision = 0;    ///< of the shard's sequence key, 0 where it is absent
  std::set<std::string> carried_out; ///< as the sequence key has them
  store_actor store;
  batch_limits limits;
};

} // namespace reprieve

REPRIEVE_MESSAGE(reprieve::confirm_ownership)
REPRIEVE_MESSAGE(reprieve::ledger_flush)
REPRIEVE_MESSAGE(reprieve::ledger_retry)
REPRIEVE_MESSAGE(reprieve::lend<reprieve::close_shard>)
REPRIEVE_MESSAGE(reprieve::lent_result)
REPRIEVE_MESSAGE(reprieve::lent_end)

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
    std::string lent_for{};  ///< the bundle that is written by others with this in it
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
  std::string lent_for;  ///< the bundle that has the batch in flight, where others write that
  bool settles = false;  ///< what became of it is being found out
  std::vector<promised_chunk> promised; ///< what the batch in flight promises
  std::function<void()> step;           ///< with these, that is to be tried again
  /// What is asked for by bundles, and how far that is.
  struct lending {
    promise<lent_result> asked;
    promise<absl::Status> ended;
    bool is_given = false;
    bool is_over = false;  ///< for those who asked
    bool promised = false; ///< whether it is to be promised first
  };
  std::map<std::string, lending> lendings;
  /// What became of the last bundles, newest last: who made one may ask later than it was known.
  std::deque<std::pair<std::string, absl::Status>> fates;
  std::size_t lends = 0; ///< requests whose batches others write, from when they are made
  /// What is asked for meanwhile: made now, it would begin with what may never be written.
  std::deque<std::function<void()>> behind_lent;
  std::vector<answer> for_fate; ///< wait until it is known what became of the batch that was lent
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

/// Whether nobody else can have the shard by now.
absl::Status confirm(const ledger& of);

/// Whether somebody else may write the batch in flight, or has written it.
bool is_given_away(const ledger& of);

/// What became of a bundle, where that is known still.
std::optional<absl::Status> fate_of_bundle(const ledger& of, const std::string& bundle);
void remember_fate(ledger& of, const std::string& bundle, const absl::Status& how);

/// Whether one transaction takes all of them. Costs making their bytes, where there are several.
bool fits_one_batch(const ledger& of, const std::vector<ledger_entry>& writes);

/// Moves as much as one transaction takes from the waiting requests into `in_flight`. One that is
/// lent goes by itself; where it is too large, nothing is moved.
void fill_batch(ledger& of);

/// Makes a promise of the request that is lent next, or was just put into a batch: of all that it
/// writes there is only the sequence key in `in_flight`, and the rest is in `promised`.
void make_promise(ledger& of);

/// The batch in flight was lent and will not be written: it is answered so. False where others have
/// gone on from what it would have written.
bool drop_lent(ledger& of, const absl::Status& why);

/// In place of the batch that was lent, what keeps it from being written later.
void fence_lent(ledger& of);

/// What the shard's sequence key tells of the batch that was lent.
enum class lent_fate { written, kept_out, open };
lent_fate fate_of_lent(const ledger& of, const range_result& found);

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
template <class Self>
void promise_or_lend(Self self);
template <class Self>
void lend_batch(Self self);
template <class Self>
void settle_lent(Self self);
template <class Self>
void promise_chunks_from(Self self, std::size_t next);
template <class Self>
void make_good_from(Self self, std::size_t next);

inline constexpr std::chrono::milliseconds ledger_retry_delay{100};
/// For whoever writes what was lent to them.
inline constexpr std::chrono::seconds longest_lent{3};
/// Where others promise much at the same time.
inline constexpr std::chrono::seconds longest_promised{10};

template <class Self>
void try_ledger_again(Self self, ledger_retry what = ledger_retry{ledger_retry::batch}) {
  self->delayed_send(self, ledger_retry_delay, what);
}

/// Nothing is in flight: what waits is next.
template <class Self>
void continue_writing(Self self) {
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
  of.lent_for.clear();
  of.busy = !of.promised.empty();
  answer_written(of);
  if (of.promised.empty())
    continue_writing(self);
  else
    make_good_from(self, 0);
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
    continue_writing(self);
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
  if (of.lent_for.empty())
    write_batch(self);
  else
    promise_or_lend(self);
}

// -- what is written by others --------------------------------------------------------------------

/// The batch that was lent is not written, for sure.
template <class Self>
void lent_is_not_written(Self self, const absl::Status& why) {
  auto& of = self->state.ledger;
  of.busy = of.settles = false;
  if (drop_lent(of, why))
    continue_writing(self);
  else
    lose_ledger(self);
}

/// Whether somebody waits for what is to be lent.
inline bool is_wanted(const ledger& of) {
  const auto found = of.lendings.find(of.lent_for);
  return found != of.lendings.end() && !found->second.is_over;
}

template <class Self>
void promise_or_lend(Self self) {
  auto& of = self->state.ledger;
  const bool is_much = of.in_flight_for.empty();
  if (!is_wanted(of)) {
    lent_is_not_written(self, absl::CancelledError("nobody waits for it any more"));
  } else if (!is_much && !of.lendings[of.lent_for].promised) {
    lend_batch(self);
  } else if (of.settings.owner->schema() < schema_with_promises) {
    lent_is_not_written(self, absl::OutOfRangeError("it is too much for one transaction"));
  } else {
    make_promise(of);
    promise_chunks_from(self, 0);
  }
}

template <class Self>
void lend_batch(Self self) {
  auto& of = self->state.ledger;
  auto& lent = of.lendings[of.lent_for];
  lent.is_given = true;
  lent.asked.deliver(lent_result(lent_batch{of.in_flight}));
  self->delayed_send(self, of.promised.empty() ? longest_lent : longest_promised,
                     ledger_retry{ledger_retry::lent, of.settings.sequence});
}

// -- what is promised -----------------------------------------------------------------------------

/// A write that is tried until it is known to be made: `key` is there with these bytes then, or has
/// gone where there are none. `then` is given where it was written. It fails where something else
/// is in the way, be it that the shard is somebody else's.
struct promise_step {
  transaction writes;
  std::string key;
  std::string bytes;
  std::function<void(revision)> then;
  std::function<void()> failed;
};

template <class Self>
void make_step(Self self, std::shared_ptr<const promise_step> step);

template <class Self>
void make_step_again(Self self, const std::shared_ptr<const promise_step>& step) {
  self->state.ledger.step = [self, step] { make_step(self, step); };
  try_ledger_again(self, ledger_retry{ledger_retry::promise});
}

/// A comparison did not hold: perhaps as it was made before.
template <class Self>
void look_for_step(Self self, const std::shared_ptr<const promise_step>& step, revision epoch) {
  self
    ->request(self->state.ledger.settings.store, caf::infinite,
              range_request{just(step->key), 0, 0, false})
    .then(
      [self, step, epoch](range_answer& answer) {
        if (!answer.ok()) {
          make_step_again(self, step);
          return;
        }
        const auto& found = answer->values;
        if (found.empty() ? step->bytes.empty() : found.front().value == step->bytes)
          step->then(found.empty() ? 0 : found.front().modified);
        else if (self->state.ledger.settings.owner->may_try_again(epoch))
          make_step_again(self, step);
        else
          step->failed();
      },
      [self, step](caf::error&) { make_step_again(self, step); });
}

template <class Self>
void make_step(Self self, std::shared_ptr<const promise_step> step) {
  const auto& settings = self->state.ledger.settings;
  auto writes = step->writes;
  writes.comparisons.push_back(settings.owner->held());
  const auto epoch = writes.comparisons.back().to;
  self->request(settings.store, caf::infinite, std::move(writes))
    .then(
      [self, step, epoch](transaction_answer& answer) {
        if (answer.ok() && answer->succeeded)
          step->then(answer->current);
        else if (answer.ok())
          look_for_step(self, step, epoch);
        else if (absl::IsInvalidArgument(answer.status()))
          step->failed();
        else
          make_step_again(self, step);
      },
      [self, step](caf::error&) { make_step_again(self, step); });
}

/// Promises chunk by chunk, and then lends the batch that commits them all. Where a name is not
/// free nothing comes of it, nor where nobody waits any more.
template <class Self>
void promise_chunks_from(Self self, std::size_t next) {
  auto& of = self->state.ledger;
  if (!is_wanted(of)) {
    settle_lent(self);
    return;
  }
  if (next == of.promised.size()) {
    take_new_epoch(of);
    lend_batch(self);
    return;
  }
  const auto& chunk = of.promised[next];
  auto step =
    std::make_shared<promise_step>(promise_step{promise_of(chunk), chunk.key, chunk.bytes, {}, {}});
  step->writes.comparisons.push_back(of.in_flight.comparisons.front()); // the sequence key
  step->then = [self, next](revision at) {
    self->state.ledger.promised[next].written = at;
    promise_chunks_from(self, next + 1);
  };
  step->failed = [self] { settle_lent(self); };
  make_step(self, std::move(step));
}

/// What was promised can't be made good or taken back from here: whoever loads the shard next does.
template <class Self>
void leave_promise(Self self) {
  lose_ledger(self);
  self->quit(can_not_go_on("what it promised is in somebody else's hands"));
}

/// Makes what was promised and committed. Until all of it is, nothing else is written.
template <class Self>
void make_good_from(Self self, std::size_t next) {
  auto& of = self->state.ledger;
  if (next == of.promised.size()) {
    of.promised.clear();
    of.busy = false;
    answer_written(of);
    continue_writing(self);
    return;
  }
  auto& chunk = of.promised[next];
  make_step(self, std::make_shared<promise_step>(
                    promise_step{make_good(chunk),
                                 chunk.key,
                                 {},
                                 [self, next](revision) { make_good_from(self, next + 1); },
                                 [self] { leave_promise(self); }}));
}

/// Takes back what was promised and is not committed, nor will be.
template <class Self>
void take_back_promise(Self self, const absl::Status& why) {
  auto& of = self->state.ledger;
  while (!of.promised.empty() && of.promised.back().written == 0)
    of.promised.pop_back();
  if (of.promised.empty()) {
    lent_is_not_written(self, why);
    return;
  }
  const auto& chunk = of.promised.back();
  auto step = std::make_shared<promise_step>(promise_step{take_back(chunk), chunk.key, {}, {}, {}});
  step->then = [self, why](revision) {
    self->state.ledger.promised.pop_back();
    take_back_promise(self, why);
  };
  step->failed = [self] { leave_promise(self); };
  make_step(self, std::move(step));
}

/// Finds out what became of the batch that was lent, and keeps it from being written later.
template <class Self>
void settle_lent(Self self) {
  auto& of = self->state.ledger;
  if (!std::exchange(of.settles, true))
    fence_lent(of);
  const auto again = [self] {
    self->delayed_send(self, ledger_retry_delay,
                       ledger_retry{ledger_retry::lent, self->state.ledger.settings.sequence});
  };
  const auto read = [self, again] {
    const auto& settings = self->state.ledger.settings;
    self
      ->request(settings.store, caf::infinite,
                range_request{just(keys::sequence(settings.shard)), 0, 0, false})
      .then(
        [self, again](range_answer& answer) {
          auto& ledger = self->state.ledger;
          const bool changing = ledger.settings.owner->is_changing();
          const auto fate = answer.ok() ? fate_of_lent(ledger, *answer) : lent_fate::open;
          if (fate == lent_fate::written) {
            ledger.settles = false;
            batch_is_durable(self, answer->values.front().modified);
          } else if (fate == lent_fate::kept_out) {
            ledger.settings.sequence += 2;
            ledger.settings.sequence_revision = answer->values.front().modified;
            take_back_promise(self, absl::CancelledError("it was not written in time"));
          } else if (!answer.ok() || changing || take_new_epoch(ledger)) {
            again();
          } else {
            lose_ledger(self);
          }
        },
        [again](caf::error&) { again(); });
  };
  self->request(of.settings.store, caf::infinite, of.in_flight)
    .then(
      [read, again](transaction_answer& answer) {
        if (answer.ok())
          read();
        else
          again();
      },
      [again](caf::error&) { again(); });
}

/// Makes what was asked for while something was lent, in order, as far as the next that is lent.
template <class Self>
void continue_behind_lent(Self self) {
  auto& of = self->state.ledger;
  for (const auto& done : std::exchange(of.for_fate, {}))
    done(confirm(of));
  while (of.lends == 0 && !of.behind_lent.empty()) {
    const auto next = std::move(of.behind_lent.front());
    of.behind_lent.pop_front();
    next();
  }
}

/// Looks in the store whether the batch that was lent is written by now, for one who asks how
/// things stand: whoever was to tell may have gone.
template <class Self>
void look_for_lent(Self self, ledger::answer done) {
  const auto& of = self->state.ledger;
  self
    ->request(of.settings.store, caf::infinite,
              range_request{just(keys::sequence(of.settings.shard)), 0, 0, false})
    .then(
      [self, done, bundle = of.lent_for](range_answer& answer) {
        auto& ledger = self->state.ledger;
        if (ledger.lent_for != bundle) // it is over
          done(confirm(ledger));
        else if (ledger.settles)
          ledger.for_fate.push_back(done);
        else if (!answer.ok())
          done(answer.status());
        else {
          if (fate_of_lent(ledger, *answer) == lent_fate::written)
            batch_is_durable(self, answer->values.front().modified);
          done(confirm(ledger));
        }
      },
      [done](caf::error& error) { done(to_status(error)); });
}

/// Those who asked for the change by a bundle hear what became of it.
template <class Self>
void lending_is_over(Self self, const std::string& bundle, const absl::Status& how) {
  remember_fate(self->state.ledger, bundle, how);
  auto found = self->state.ledger.lendings.extract(bundle);
  if (found.empty())
    return;
  const auto& one = found.mapped();
  if (!one.is_given && !one.is_over)
    one.asked.deliver(lent_result(how.ok() ? absl::InternalError("it is written already") : how));
  if (one.ended.pending())
    one.ended.deliver(how);
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
    continue_writing(self);
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
    continue_writing(self);
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
           write_terms terms = {}) {
  auto& of = self->state.ledger;
  if (writes.empty() && terms.carries_out.empty() && terms.lent_for.empty() && of.waiting.empty()
      && of.lent_for.empty()) {
    if (of.busy && !of.is_aside) {
      of.in_flight_for.push_back({{}, std::move(done), {}});
      return;
    }
    if (!of.busy) {
      of.unconfirmed.push_back(std::move(done));
      if (of.unconfirmed.size() == 1)
        detail::confirm_ledger(self);
      return;
    }
    // Whoever asks may rely on it that nothing from before comes later: a batch goes behind the
    // aside.
  }
  if (!terms.lent_for.empty()) {
    ++of.lends;
    done = [self, done = std::move(done)](const absl::Status& how) {
      --self->state.ledger.lends;
      done(how);
      if (!absl::IsAborted(how)) // else the shard ends
        detail::continue_behind_lent(self);
    };
  }
  of.waiting.push_back(
    {std::move(writes), std::move(done), std::move(terms.carries_out), std::move(terms.lent_for)});
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
    detail::continue_writing(self);
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
  const auto& of = self->state.ledger;
  if (due.what == ledger_retry::batch)
    detail::write_batch(self);
  else if (due.what == ledger_retry::promise)
    std::exchange(self->state.ledger.step, {})();
  else if (due.what == ledger_retry::confirmation)
    detail::confirm_ledger(self);
  else if (of.busy && !of.lent_for.empty() && of.settings.sequence == due.sequence)
    detail::settle_lent(self);
}

/// Makes a change when nothing is lent: now, or when it is known what became of that.
template <class Self, class F>
void when_nothing_is_lent(Self self, F change) {
  auto& of = self->state.ledger;
  if (of.lends == 0 && of.behind_lent.empty())
    change();
  else
    of.behind_lent.emplace_back(std::move(change));
}

/// Likewise for a request; `change` is given what to call with its outcome.
template <class Self, class F>
caf::result<absl::Status> answer_when_nothing_is_lent(Self self, F change) {
  auto answer = promise_from<absl::Status>(self);
  when_nothing_is_lent(self, [answer, change = std::move(change)] { change(answer_to(answer)); });
  return answer;
}

/// Makes a change whose batch others write, when nothing else is lent; `change` is given what to
/// call with its outcome.
template <class Self, class Change, class F>
caf::result<lent_result> lend_for(Self self, const lend<Change>& wanted, F change) {
  auto asked = promise_from<lent_result>(self);
  auto& lent = self->state.ledger.lendings[wanted.bundle];
  lent.asked = asked;
  lent.promised = wanted.promised;
  when_nothing_is_lent(self, [self, bundle = wanted.bundle, change = std::move(change)] {
    const auto over = [self, bundle](const absl::Status& how) {
      detail::lending_is_over(self, bundle, how);
    };
    if (self->state.ledger.lendings[bundle].is_over)
      over(absl::CancelledError("nobody waits for it any more"));
    else
      change(over);
  });
  return asked;
}

/// Answers a request that `make` carries out when nothing is lent: it is given the actor, the
/// request, what to call with the outcome and, if it wants that, that it is for no bundle.
template <class Self, class Request, class F>
caf::result<absl::Status> make_when_nothing_is_lent(Self self, Request& wanted, F make) {
  return answer_when_nothing_is_lent(
    self, [self, make, wanted = std::move(wanted)](status_answer answer) {
      if constexpr (std::is_invocable_v<F, Self, const Request&, status_answer, std::string>)
        make(self, wanted, std::move(answer), std::string{});
      else
        make(self, wanted, std::move(answer));
    });
}

/// Likewise where others write it, with the name of the bundle that it is for.
template <class Self, class Change, class F>
caf::result<lent_result> make_for_bundle(Self self, const lend<Change>& wanted, F make) {
  return lend_for(self, wanted, [self, make, wanted](status_answer answer) {
    make(self, wanted.change, std::move(answer), wanted.bundle);
  });
}

/// Answers `confirm_ownership`. What was lent may be written without that anybody has said so: that
/// is looked for, so that of a bundle either all is shown or nothing.
template <class Self>
caf::result<absl::Status> confirm_shard(Self self) {
  auto& of = self->state.ledger;
  if (auto sure = confirm(of); !sure.ok() || !is_given_away(of))
    return sure;
  auto asked = promise_from<absl::Status>(self);
  if (of.settles)
    of.for_fate.push_back(answer_to(asked));
  else
    detail::look_for_lent(self, answer_to(asked));
  return asked;
}

/// A shard whose resource group goes takes nothing new: for longer than it can have been under way.
/// The actor's state has `shard`, `clock`, and as `closed_until` until when. `some` says what is in
/// it still, if anything is.
template <class Self>
caf::result<lent_result> close_for(Self self, const lend<close_shard>& wanted,
                                   std::function<std::optional<object_reference>()> some) {
  return lend_for(self, wanted, [self, some, bundle = wanted.bundle](status_answer answer) {
    if (const auto found = some()) {
      answer(in_use({object_kind::resource_group, group_of_shard(self->state.shard)}, *found));
      return;
    }
    self->state.closed_until = self->state.clock.now(self) + 2 * answer_time;
    write_then(
      self, {}, [answer] { answer(absl::OkStatus()); }, {{}, bundle},
      [self, answer](const absl::Status& why) {
        self->state.closed_until = no_time;
        answer(why);
      });
  });
}

/// Whether the shard takes nothing any more.
template <class Self>
bool is_closed(Self self) {
  return self->state.closed_until != no_time
         && self->state.clock.now(self) < self->state.closed_until;
}

/// Takes in what became of a batch that was lent.
template <class Self>
caf::result<absl::Status> end_lent(Self self, const lent_end& end) {
  auto& of = self->state.ledger;
  const auto found = of.lendings.find(end.bundle);
  if (found == of.lendings.end()) {
    if (end.how != lent_end::unknown)
      return absl::OkStatus();
    return fate_of_bundle(of, end.bundle)
      .value_or(absl::UnknownError("nobody knows of it here any more"));
  }
  if (!found->second.is_given) { // it is refused when its turn comes
    found->second.is_over = true;
    return absl::CancelledError("it was given up");
  }
  auto answer = found->second.ended = promise_from<absl::Status>(self);
  if (of.settles) // it took too long; what became of it will be known
    return answer;
  if (end.how == lent_end::written)
    detail::batch_is_durable(self, end.at);
  else if (end.how == lent_end::refused && of.promised.empty())
    detail::lent_is_not_written(self, absl::CancelledError("it was given up"));
  else
    detail::settle_lent(self);
  return answer;
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
void write_then(Self self, std::vector<ledger_entry> writes, F then, write_terms terms,
                Refused refused) {
  write(
    self, std::move(writes),
    [self, then = std::move(then),
     refused = std::move(refused)](const absl::Status& written) mutable {
      if (written.ok())
        then();
      else if (absl::IsInvalidArgument(written) || absl::IsOutOfRange(written)
               || absl::IsCancelled(written))
        refused(written);
      else
        self->quit(can_not_go_on(std::string(written.message())));
    },
    std::move(terms));
}

/// Refuses a change. That goes by the newest forms, which may not be durable yet: nobody must hear
/// of them before they are, else a later read may not know of what an earlier answer told.
template <class Self>
void refuse(Self self, absl::Status why, status_answer answer) {
  const auto tell = [answer = std::move(answer), why = std::move(why)] { answer(why); };
  write_then(self, {}, tell, {}, [tell](const absl::Status&) { tell(); });
}

} // namespace reprieve
