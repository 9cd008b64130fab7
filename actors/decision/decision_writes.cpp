#include "actors/decision/decision_actions.hpp"
#include "actors/interfaces/planted_bug.hpp"
#include "protocol/records/records.hpp"
#include "state/records/keys.hpp"
#include "state/records/record_limits.hpp"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

namespace reprieve::decision_actions {

namespace {

/// What the answer to a write comes to; where there is none, that is `unanswered`.
decision_event outcome_of(const transaction_answer& answer) {
  if (answer.ok())
    return answer->succeeded ? decision_event::written : decision_event::overtaken;
  return absl::IsInvalidArgument(answer.status()) ? decision_event::rejected
                                                  : decision_event::unanswered;
}

/// What every write of the decision compares: its owner is still in its place.
std::vector<comparison> owned(const decision_settings& settings) {
  if (is_planted(planted_bug::no_epoch))
    return {};
  return {settings.ground->held()};
}

/// Beside that, its key is as it was left. Where there was none yet, that is no lasting
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
std::vector<comparison> to_commit(decision_pointer self) {
  std::vector<comparison> all;
  if (!is_planted(planted_bug::no_epoch))
    for (const auto& [key, epoch] : self->state.epochs)
      all.push_back({key, compared::modified, epoch});
  return with_key(std::move(all), id(self), 0);
}

/// The write of the decision's key, and with it that of its content where the store does not have
/// it yet: one chunk is small enough to go along. From then on it is a draft no more.
std::vector<operation> with_content(decision_pointer self, put head) {
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
void write_chunks(decision_pointer self, std::shared_ptr<const std::vector<std::string>> chunks,
                  std::size_t first) {
  if (first >= chunks->size()) {
    happens(self, decision_event::written);
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
        if (const auto outcome = outcome_of(answer); outcome != decision_event::written)
          happens(self, outcome, answer.status());
        else
          write_chunks(self, chunks, last);
      },
      [self](caf::error& error) { happens(self, decision_event::unanswered, to_status(error)); });
}

/// Moves the decision from the open ones to the finished ones, by `writes`.
void write_last(decision_pointer self, std::vector<operation> writes) {
  const auto& settings = self->state.settings;
  transaction last{owned_and(settings, settings.head_revision), std::move(writes)};
  last.operations.emplace_back(erase{just(keys::open_decision(id(self)))});
  if (has_to_be_barred(self->state, how_it_ends(self->state))
      && !is_planted(planted_bug::forgets_aborts))
    last.operations.emplace_back(put{keys::barred_decision(id(self)), {}, 0});
  self->request(settings.store, caf::infinite, std::move(last))
    .then([self](transaction_answer& answer) { happens(self, outcome_of(answer)); },
          [self](caf::error&) { happens(self, decision_event::unanswered); });
}

/// Enters the decision into the index of its workloads; what fits goes with the end. What is
/// entered before that is entered again by whoever takes the decision over, at the same keys.
void write_index(decision_pointer self, std::vector<operation> index,
                 std::vector<operation> writes) {
  constexpr std::size_t at_once = 100;
  const auto some = index.end() - static_cast<std::ptrdiff_t>(std::min(at_once, index.size()));
  if (some == index.begin()) {
    std::ranges::move(index, std::back_inserter(writes));
    write_last(self, std::move(writes));
    return;
  }
  const auto& settings = self->state.settings;
  transaction part{owned_and(settings, settings.head_revision),
                   {std::make_move_iterator(some), std::make_move_iterator(index.end())}};
  index.erase(some, index.end());
  self->request(settings.store, caf::infinite, std::move(part))
    .then(
      [self, index = std::move(index),
       writes = std::move(writes)](transaction_answer& answer) mutable {
        if (const auto outcome = outcome_of(answer); outcome != decision_event::written)
          happens(self, outcome);
        else
          write_index(self, std::move(index), std::move(writes));
      },
      [self](caf::error&) { happens(self, decision_event::unanswered); });
}

/// Of those who stay, as many are told as go into a chunk.
void tell_less(reasoning& why) {
  constexpr std::size_t most = 1000;
  for (auto* spared : {&why.reprieved, &why.passed_over})
    if (spared->size() > most)
      spared->resize(most);
}

/// Reads how far the decision came.
void read_phase(decision_pointer self) {
  self
    ->request(self->state.settings.store, caf::infinite,
              range_request{just(keys::open_decision(id(self))), 0, 0, false})
    .then(
      [self](range_answer& answer) {
        if (!answer.ok()) {
          happens(self, decision_event::unanswered);
          return;
        }
        auto& decided = decision_of(self);
        if (answer->values.empty()) {
          // Only the end takes the key away. One that never had a key was kept from writing it.
          if (decided.phase == decision_phase::preparing)
            happens(self, decision_event::never_had_key,
                    absl::AbortedError("its owners changed before it was committed"));
          else
            happens(self, decision_event::key_gone);
          return;
        }
        const auto head = decode<decision_head>(answer->values.front().value);
        if (!head.ok()) {
          happens(self, decision_event::unanswered);
          return;
        }
        self->state.settings.head_revision = answer->values.front().modified;
        decided.phase = head->summary.phase;
        decided.abort_reason = head->summary.abort_reason;
        decided.victims_told = head->summary.victims_told;
        found_in_store(self, decided.phase);
      },
      [self](caf::error&) { happens(self, decision_event::unanswered); });
}

} // namespace

void write_parts(decision_pointer self) {
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
    happens(self, decision_event::written);
  } else {
    write_chunks(self, std::make_shared<const std::vector<std::string>>(std::move(chunks)), 0);
  }
}

void write_commit(decision_pointer self) {
  auto& settings = self->state.settings;
  auto committed = head_of(settings.decision, settings.chunks);
  const bool at_once = settings.decision.at_once;
  committed.summary.phase = at_once ? decision_phase::starting : decision_phase::committed;
  committed.summary.committed = settings.clock.now(self);
  transaction writes{to_commit(self),
                     with_content(self, put{keys::open_decision(id(self)), encode(committed), 0})};
  self->request(settings.store, caf::infinite, std::move(writes))
    .then(
      [self, at = committed.summary.committed, at_once](transaction_answer& answer) {
        auto& state = self->state;
        auto outcome = outcome_of(answer);
        if (is_planted(planted_bug::unknown_is_aborted) && !answer.ok())
          outcome = decision_event::rejected;
        if (outcome == decision_event::written) {
          content_is_written(state);
          state.settings.head_revision = answer->current;
          state.settings.decision.committed = at;
          happens(self, at_once ? decision_event::written_as_starting : decision_event::written);
          return;
        }
        state.commit_may_arrive =
          outcome == decision_event::unanswered && may_arrive_late(answer.status());
        happens(self, outcome,
                answer.ok() ? absl::AbortedError("a shard took its hold back, or has another owner")
                            : answer.status());
      },
      [self](caf::error& error) {
        self->state.commit_may_arrive = true;
        happens(self, decision_event::unanswered, to_status(error));
      });
}

bool has_to_be_barred(const decision_actor_state& state, const absl::Status& how) {
  return state.abort_may_arrive || (state.commit_may_arrive && !how.ok());
}

void erase_parts(decision_pointer self) {
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

void write_start(decision_pointer self) {
  auto& settings = self->state.settings;
  begin_step(self, "decision.start");
  auto starting = head_of(settings.decision, settings.chunks);
  starting.summary.phase = decision_phase::starting;
  transaction writes{owned_and(settings, settings.head_revision),
                     {put{keys::open_decision(id(self)), encode(starting), 0}}};
  self->request(settings.store, caf::infinite, std::move(writes))
    .then(
      [self](transaction_answer& answer) {
        if (answer.ok() && answer->succeeded)
          self->state.settings.head_revision = answer->current;
        happens(self, outcome_of(answer));
      },
      [self](caf::error&) { happens(self, decision_event::unanswered); });
}

void read_store(decision_pointer self) {
  const auto& settings = self->state.settings;
  self
    ->request(settings.store, caf::infinite,
              range_request{just(settings.ground->key()), 0, 0, false})
    .then(
      [self](range_answer& answer) {
        const auto& ground = *self->state.settings.ground;
        const auto found =
          answer.ok() && !answer->values.empty() ? answer->values.front().modified : revision{0};
        // What was read may be older than what is known by now, but not newer.
        if (!answer.ok() || ground.is_changing() || (found != 0 && found < ground.epoch()))
          happens(self, decision_event::unanswered);
        else if (found != ground.epoch())
          happens(self, decision_event::owner_lost);
        else
          read_phase(self);
      },
      [self](caf::error&) { happens(self, decision_event::unanswered); });
}

void write_abort(decision_pointer self) {
  auto& state = self->state;
  auto& settings = state.settings;
  const bool told =
    state.at == decision_state::aborting_applied && !settings.decision.victims.empty();
  auto aborted = head_of(settings.decision, settings.chunks);
  aborted.summary.phase = decision_phase::aborted;
  aborted.summary.abort_reason = std::string(state.why_aborted.message());
  aborted.summary.victims_told = told;
  transaction writes{owned_and(settings, settings.head_revision),
                     with_content(self, put{keys::open_decision(id(self)), encode(aborted), 0})};
  self->request(settings.store, caf::infinite, std::move(writes))
    .then(
      [self, told](transaction_answer& answer) {
        auto& s = self->state;
        const auto outcome = outcome_of(answer);
        if (!answer.ok())
          s.abort_may_arrive |= s.settings.head_revision == 0 && may_arrive_late(answer.status());
        if (outcome == decision_event::written) {
          content_is_written(s);
          s.settings.head_revision = answer->current;
          s.settings.decision.phase = decision_phase::aborted;
          s.settings.decision.abort_reason = std::string(s.why_aborted.message());
          s.settings.decision.victims_told = told;
        }
        happens(self, outcome);
      },
      [self](caf::error&) {
        self->state.abort_may_arrive |= self->state.settings.head_revision == 0;
        happens(self, decision_event::unanswered);
      });
}

void write_end(decision_pointer self) {
  auto& settings = self->state.settings;
  auto ended = head_of(settings.decision, settings.chunks);
  ended.summary.phase =
    how_it_ends(self->state).ok() ? decision_phase::done : decision_phase::aborted;
  ended.summary.ended = settings.clock.now(self);
  auto head = encode(ended);
  if (settings.ground->schema() < schema_with_archive) {
    write_last(self, with_content(self, put{keys::done_decision(ended.summary.ended, id(self)),
                                            std::move(head), 0}));
    return;
  }
  const auto entry = entry_of(ended, settings.body_bytes + std::ssize(head));
  auto writes = with_content(self, put{keys::finished_head(id(self)), std::move(head), 0});
  writes.emplace_back(put{keys::ended_decision(entry.ended, id(self)), encode(entry.what), 0});
  write_index(self, index_writes(entry), std::move(writes));
}

} // namespace reprieve::decision_actions
