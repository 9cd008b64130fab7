#include "actors/decision/decision_steps.hpp"
#include "actors/interfaces/planted_bug.hpp"
#include "protocol/records/records.hpp"
#include "state/records/keys.hpp"
#include "state/records/record_limits.hpp"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

namespace reprieve::decision_steps {

namespace {

void write_commit(self_pointer self);

/// What every write of the decision compares: its owner is still in its place.
std::vector<comparison> owned(const decision_settings& settings) {
  if (planted == planted_bug::no_epoch)
    return {};
  return {settings.ground->held()};
}

/// Likewise, and that its key is as it was left. Where there was none yet, that is no lasting
/// fence: the key goes when the decision ends, so that it must not be barred either.
std::vector<comparison> with_key(std::vector<comparison> all, const std::string& id,
                                 revision key_revision) {
  all.push_back({keys::open_decision(id), compared::modified, key_revision});
  if (key_revision == 0)
    all.push_back({keys::barred_decision(id), compared::modified, 0});
  return all;
}
std::vector<comparison> owned_and(const decision_settings& settings, revision key_revision) {
  return with_key(owned(settings), settings.decision.id, key_revision);
}

/// What the commit compares: the coordinator and all shards that voted have the owners that they
/// had before the votes, and nobody has aborted it.
std::vector<comparison> to_commit(self_pointer self) {
  std::vector<comparison> all;
  if (planted != planted_bug::no_epoch)
    for (const auto& [key, epoch] : self->state.epochs)
      all.push_back({key, compared::modified, epoch});
  return with_key(std::move(all), id(self), 0);
}

/// The write of the decision's key, and with it that of its content where the store does not have
/// it yet: one chunk is small enough to go along. From then on it is a draft no more.
std::vector<operation> with_content(self_pointer self, put head) {
  std::vector<operation> writes;
  if (const auto& body = self->state.unwritten_body; !body.empty())
    writes.emplace_back(put{keys::decision_body(id(self), 0), body, 0});
  if (self->state.is_draft)
    writes.emplace_back(erase{just(keys::draft(id(self)))});
  writes.emplace_back(std::move(head));
  return writes;
}

/// The store has the decision's key, and all that goes with it.
void content_is_written(decision_actor_state& state) {
  state.unwritten_body.clear();
  state.is_draft = false;
}

/// Writes the chunks from `first` on, some at a time. With them goes a key by which they are found
/// where the commit never comes, or they come after it was given up.
void write_chunks(self_pointer self, std::shared_ptr<const std::vector<std::string>> chunks,
                  std::size_t first) {
  if (first >= chunks->size()) {
    write_commit(self);
    return;
  }
  const auto& settings = self->state.settings;
  transaction writes{owned(settings), {put{keys::draft(id(self)), {}, 0}}};
  self->state.is_draft = true;
  auto last = first;
  for (std::size_t bytes = 0;
       last < chunks->size() && last - first < store_limits::operations / 2
       && (last == first || bytes + (*chunks)[last].size() <= record_limits::record_bytes);
       ++last) {
    bytes += (*chunks)[last].size();
    writes.operations.emplace_back(
      put{keys::decision_body(id(self), static_cast<std::uint32_t>(last)), (*chunks)[last], 0});
  }
  self->request(settings.store, caf::infinite, std::move(writes))
    .then(
      [self, chunks = std::move(chunks), last](transaction_answer& answer) {
        if (!answer.ok())
          give_up(self, answer.status());
        else if (answer->succeeded)
          write_chunks(self, chunks, last);
        else
          resume_from_store(self); // the owner has another epoch, or has lost its place
      },
      [self](caf::error& error) { give_up(self, to_status(error)); });
}

/// Creates the decision's key as committed, if nobody aborted it first; as starting, where all room
/// is free.
void write_commit(self_pointer self) {
  auto& settings = self->state.settings;
  auto committed = head_of(settings.decision, settings.chunks);
  committed.summary.phase =
    settings.decision.at_once ? decision_phase::starting : decision_phase::committed;
  committed.summary.committed = settings.clock.now(self);
  transaction writes{to_commit(self),
                     with_content(self, put{keys::open_decision(id(self)), encode(committed), 0})};
  self->request(settings.store, caf::infinite, std::move(writes))
    .then(
      [self, at = committed.summary.committed,
       phase = committed.summary.phase](transaction_answer& answer) {
        auto& s = self->state.settings;
        if (answer.ok() && answer->succeeded) {
          content_is_written(self->state);
          s.head_revision = answer->current;
          s.decision.committed = at;
          enter(self, phase);
          tell_people(self,
                      s.decision.at_once && s.decision.counts.empty() ? "Started" : "Committed",
                      s.decision.why.summary);
          take_next_step(self);
        } else if (absl::IsInvalidArgument(answer.status())
                   || (planted == planted_bug::unknown_is_aborted && !answer.ok())) {
          give_up(self, answer.status()); // the store does not take it, so that it has nothing
        } else {
          self->state.commit_unknown = may_arrive_late(answer.status());
          // Not known, or somebody aborted it: writing the abort tells which
          // (docs/protocol.md#two-phase-commit).
          write_abort(self, answer.ok() ? absl::AbortedError(
                              "a shard took its hold back, or has another owner")
                                        : answer.status());
        }
      },
      [self](caf::error& error) {
        self->state.commit_unknown = true;
        write_abort(self, to_status(error));
      });
}

/// Moves the decision from the open ones to the finished ones, by `writes`.
void write_last(self_pointer self, std::vector<operation> writes, const absl::Status& how) {
  const auto& settings = self->state.settings;
  transaction last{owned_and(settings, settings.head_revision), std::move(writes)};
  last.operations.emplace_back(erase{just(keys::open_decision(id(self)))});
  if (has_to_be_barred(self->state, how) && planted != planted_bug::forgets_aborts)
    last.operations.emplace_back(put{keys::barred_decision(id(self)), {}, 0});
  self->request(settings.store, caf::infinite, std::move(last))
    .then(
      [self, how](transaction_answer& answer) {
        if (!answer.ok() || !answer->succeeded) {
          resume_from_store(self);
          return;
        }
        if (!how.ok())
          tell_people(self, "Aborted", std::string(how.message()));
        else if (!decision_of(self).at_once)
          tell_people(self, "Done", "the decision is carried out");
        end(self, how);
      },
      [self](caf::error&) { resume_from_store(self); });
}

/// Enters the decision into the index of its workloads; what fits goes with the end. What is
/// entered before that is entered again by whoever takes the decision over, at the same keys.
void write_index(self_pointer self, std::vector<operation> index, std::vector<operation> writes,
                 const absl::Status& how) {
  constexpr std::size_t at_once = 100;
  const auto some = index.end() - static_cast<std::ptrdiff_t>(std::min(at_once, index.size()));
  if (some == index.begin()) {
    std::ranges::move(index, std::back_inserter(writes));
    write_last(self, std::move(writes), how);
    return;
  }
  const auto& settings = self->state.settings;
  transaction part{owned_and(settings, settings.head_revision),
                   {std::make_move_iterator(some), std::make_move_iterator(index.end())}};
  index.erase(some, index.end());
  self->request(settings.store, caf::infinite, std::move(part))
    .then(
      [self, index = std::move(index), writes = std::move(writes),
       how](transaction_answer& answer) mutable {
        if (answer.ok() && answer->succeeded)
          write_index(self, std::move(index), std::move(writes), how);
        else
          resume_from_store(self);
      },
      [self](caf::error&) { resume_from_store(self); });
}

/// Of those who stay, as many are told as go into a chunk.
void tell_less(reasoning& why) {
  constexpr std::size_t most = 1000;
  for (auto* spared : {&why.reprieved, &why.passed_over})
    if (spared->size() > most)
      spared->resize(most);
}

/// Reads how far the decision came, and goes on from there.
void read_phase(self_pointer self) {
  const auto again = [self] { try_again(self, [self] { resume_from_store(self); }); };
  self
    ->request(self->state.settings.store, caf::infinite,
              range_request{just(keys::open_decision(id(self))), 0, 0, false})
    .then(
      [self, again](range_answer& answer) {
        if (!answer.ok()) {
          again();
          return;
        }
        if (answer->values.empty()) {
          // Only the end takes the key away. One that never had a key was kept from writing it.
          if (decision_of(self).phase == decision_phase::preparing)
            give_up(self, absl::AbortedError("its owners changed before it was committed"));
          else
            end(self, decision_of(self).phase == decision_phase::aborted
                        ? absl::AbortedError(decision_of(self).abort_reason)
                        : absl::OkStatus());
          return;
        }
        const auto head = decode<decision_head>(answer->values.front().value);
        if (!head.ok()) {
          again();
          return;
        }
        self->state.settings.head_revision = answer->values.front().modified;
        decision_of(self).phase = head->summary.phase;
        decision_of(self).abort_reason = head->summary.abort_reason;
        decision_of(self).victims_told = head->summary.victims_told;
        take_next_step(self);
      },
      [again](caf::error&) { again(); });
}

} // namespace

void write_bodies(self_pointer self) {
  begin_step(self, "decision.commit");
  tell_less(decision_of(self).why);
  auto chunks = encode_bodies(decision_of(self), self->state.settings.placed);
  self->state.settings.chunks = static_cast<std::uint32_t>(chunks.size());
  self->state.settings.body_bytes = 0;
  for (const auto& chunk : chunks)
    self->state.settings.body_bytes += std::ssize(chunk);
  // The most of it; whoever asks for it reads it from the store.
  reasoning kept;
  kept.summary = std::move(decision_of(self).why.summary);
  decision_of(self).why = std::move(kept);
  if (chunks.size() == 1) {
    self->state.unwritten_body = std::move(chunks.front());
    write_commit(self);
  } else {
    write_chunks(self, std::make_shared<const std::vector<std::string>>(std::move(chunks)), 0);
  }
}

bool has_to_be_barred(const decision_actor_state& state, const absl::Status& how) {
  return state.abort_unknown || (state.commit_unknown && !how.ok());
}

void erase_bodies(self_pointer self) {
  const auto& settings = self->state.settings;
  if (settings.chunks == 0)
    return;
  self
    ->request(settings.store, caf::infinite,
              transaction{owned(settings),
                          {erase{with_prefix(keys::bodies_of(id(self)))},
                           erase{just(keys::draft(id(self)))}}})
    .then([](transaction_answer&) {}, [](caf::error&) {});
}

void write_starting(self_pointer self) {
  auto& settings = self->state.settings;
  begin_step(self, "decision.start");
  auto starting = head_of(settings.decision, settings.chunks);
  starting.summary.phase = decision_phase::starting;
  transaction writes{owned_and(settings, settings.head_revision),
                     {put{keys::open_decision(id(self)), encode(starting), 0}}};
  self->request(settings.store, caf::infinite, std::move(writes))
    .then(
      [self](transaction_answer& answer) {
        if (answer.ok() && answer->succeeded) {
          self->state.settings.head_revision = answer->current;
          enter(self, decision_phase::starting);
          start_all(self);
        } else {
          resume_from_store(self);
        }
      },
      [self](caf::error&) { resume_from_store(self); });
}

void resume_from_store(self_pointer self) {
  const auto again = [self] { try_again(self, [self] { resume_from_store(self); }); };
  const auto& settings = self->state.settings;
  self
    ->request(settings.store, caf::infinite,
              range_request{just(settings.ground->key()), 0, 0, false})
    .then(
      [self, again](range_answer& answer) {
        const auto& ground = *self->state.settings.ground;
        const auto found =
          answer.ok() && !answer->values.empty() ? answer->values.front().modified : revision{0};
        // What was read may be older than what is known by now, but not newer.
        if (!answer.ok() || ground.is_changing() || (found != 0 && found < ground.epoch()))
          again();
        else if (found != ground.epoch())
          self->quit(can_not_go_on("its coordinator has another owner now"));
        else
          read_phase(self);
      },
      [again](caf::error&) { again(); });
}

void write_abort(self_pointer self, absl::Status why) {
  auto& settings = self->state.settings;
  auto aborted = head_of(settings.decision, settings.chunks);
  aborted.summary.phase = decision_phase::aborted;
  aborted.summary.abort_reason = std::string(why.message());
  aborted.summary.victims_told = self->state.told;
  transaction writes{owned_and(settings, settings.head_revision),
                     with_content(self, put{keys::open_decision(id(self)), encode(aborted), 0})};
  self->request(settings.store, caf::infinite, std::move(writes))
    .then(
      [self, told = self->state.told, why](transaction_answer& answer) {
        if (!answer.ok()) {
          self->state.abort_unknown |=
            self->state.settings.head_revision == 0 && may_arrive_late(answer.status());
          try_again(self, [self, why] { write_abort(self, why); });
          return;
        }
        if (!answer->succeeded) {
          resume_from_store(self);
          return;
        }
        content_is_written(self->state);
        self->state.settings.head_revision = answer->current;
        decision_of(self).phase = decision_phase::aborted;
        decision_of(self).abort_reason = std::string(why.message());
        decision_of(self).victims_told = told;
        withdraw_all(self);
      },
      [self, why](caf::error&) {
        self->state.abort_unknown |= self->state.settings.head_revision == 0;
        try_again(self, [self, why] { write_abort(self, why); });
      });
}

void write_end(self_pointer self, absl::Status how) {
  auto& settings = self->state.settings;
  auto ended = head_of(settings.decision, settings.chunks);
  ended.summary.phase = how.ok() ? decision_phase::done : decision_phase::aborted;
  ended.summary.ended = settings.clock.now(self);
  auto head = encode(ended);
  if (settings.ground->schema() < schema_with_archive) {
    write_last(self,
               with_content(
                 self, put{keys::done_decision(ended.summary.ended, id(self)), std::move(head), 0}),
               how);
    return;
  }
  const auto entry = entry_of(ended, settings.body_bytes + std::ssize(head));
  auto writes = with_content(self, put{keys::finished_head(id(self)), std::move(head), 0});
  writes.emplace_back(put{keys::ended_decision(entry.ended, id(self)), encode(entry.what), 0});
  write_index(self, index_writes(entry), std::move(writes), how);
}

} // namespace reprieve::decision_steps
