#include "actors/ledger.hpp"

#include "actors/planted_bug.hpp"
#include "protocol/records.hpp"
#include "state/keys.hpp"

#include <fmt/format.h>

#include <set>

namespace reprieve {

namespace {

using self_pointer = ledger_actor::stateful_pointer<ledger_state>;

constexpr std::chrono::milliseconds retry_delay{100};

void send_batch(self_pointer self);

const std::string& key_of(const operation& write) {
  if (const auto* written = std::get_if<put>(&write))
    return written->key;
  return std::get<erase>(write).range.begin;
}

std::size_t bytes_of(const operation& write) {
  const auto* written = std::get_if<put>(&write);
  return key_of(write).size() + (written != nullptr ? written->value.size() : 0);
}

/// Moves as much as one transaction takes from the waiting writes into `in_flight`. A key that is
/// written again closes the batch, so that every request becomes durable in its order.
void fill_batch(ledger_state& state) {
  constexpr std::size_t room_for_sequence = 1024;
  auto& batch = state.in_flight;
  batch = {};
  std::set<std::string, std::less<>> touched;
  std::size_t bytes = room_for_sequence;
  while (!state.waiting.empty() && batch.operations.size() + 1 < store_limits::operations) {
    auto& next = state.waiting.front();
    bytes += bytes_of(next.write);
    if (bytes > store_limits::bytes && !batch.operations.empty())
      break;
    if (!touched.insert(key_of(next.write)).second)
      break;
    state.in_flight_until = state.waiting.size() > 1 && state.waiting[1].request == next.request
                              ? next.request - 1
                              : next.request;
    batch.operations.push_back(std::move(next.write));
    state.waiting.pop_front();
  }
  const auto& settings = state.settings;
  const auto sequence_key = keys::sequence(settings.shard);
  batch.operations.push_back(
    put{sequence_key, encode(sequence_record{settings.sequence + 1, state.writer}), 0});
  batch.comparisons = {{sequence_key, compared::modified, settings.sequence_revision}};
  if (planted != planted_bug::no_epoch)
    batch.comparisons.push_back({settings.owner_key, compared::modified, settings.epoch});
}

void answer_requests(ledger_state& state, const absl::Status& how) {
  while (!state.requests.empty()
         && (!how.ok() || state.requests.front().first <= state.in_flight_until)) {
    state.requests.front().second.deliver(how);
    state.requests.pop_front();
  }
}

void batch_is_durable(self_pointer self, revision at) {
  auto& state = self->state;
  ++state.settings.sequence;
  state.settings.sequence_revision = at;
  state.busy = false;
  answer_requests(state, absl::OkStatus());
  if (!state.waiting.empty())
    send_batch(self);
}

void give_up(self_pointer self, const std::string& reason) {
  answer_requests(self->state, absl::AbortedError(reason));
  self->quit(lost_ownership());
}

void try_again(self_pointer self, ledger_retry what = ledger_retry{ledger_retry::batch}) {
  self->delayed_send(self, retry_delay, what);
}

/// A comparison failed: either this very batch arrived before, or the shard is not ours any more.
void resolve(self_pointer self) {
  const auto key = keys::sequence(self->state.settings.shard);
  self->request(self->state.settings.store, caf::infinite, range_request{just(key), 0, 0, false})
    .then(
      [self](range_answer& answer) {
        if (!answer.ok()) {
          try_again(self);
          return;
        }
        auto& state = self->state;
        if (!answer->values.empty()) {
          const auto& found = answer->values.front();
          const auto record = decode<sequence_record>(found.value);
          if (record.ok() && record->writer == state.writer
              && record->number == state.settings.sequence + 1) {
            batch_is_durable(self, found.modified);
            return;
          }
        }
        give_up(self, fmt::format("shard {} has another owner now", state.settings.shard));
      },
      [self](caf::error&) { try_again(self); });
}

/// Sends the batch in flight until its fate is known; a repetition can't be applied twice because
/// the sequence key has moved on by then.
void write_batch(self_pointer self) {
  self->request(self->state.settings.store, caf::infinite, self->state.in_flight)
    .then(
      [self](transaction_answer& answer) {
        if (answer.ok() && answer->succeeded)
          batch_is_durable(self, answer->current);
        else if (answer.ok())
          resolve(self);
        else if (absl::IsInvalidArgument(answer.status()))
          give_up(self, std::string(answer.status().message()));
        else
          try_again(self);
      },
      [self](caf::error&) { try_again(self); });
}

/// Asks the store whether the shard is still ours, for all who wait for that.
void confirm(self_pointer self) {
  const auto& settings = self->state.settings;
  self
    ->request(settings.store, caf::infinite,
              transaction{{{settings.owner_key, compared::modified, settings.epoch}}, {}})
    .then(
      [self](transaction_answer& answer) {
        if (!answer.ok()) {
          try_again(self, {ledger_retry::confirmation});
          return;
        }
        const auto how = answer->succeeded ? absl::OkStatus() : absl::AbortedError("not ours");
        for (auto& waiting : std::exchange(self->state.unconfirmed, {}))
          waiting.deliver(how);
        if (!answer->succeeded)
          give_up(self, fmt::format("shard {} has another owner now", self->state.settings.shard));
      },
      [self](caf::error&) { try_again(self, {ledger_retry::confirmation}); });
}

void send_batch(self_pointer self) {
  self->state.busy = true;
  fill_batch(self->state);
  write_batch(self);
}

} // namespace

ledger_actor::behavior_type ledger(self_pointer self, ledger_settings settings) {
  auto& state = self->state;
  state.settings = std::move(settings);
  state.writer = fmt::format("{}@{}", state.settings.owner_key, state.settings.epoch);
  return {
    [self](ledger_write& wanted) -> caf::result<absl::Status> {
      auto& s = self->state;
      if (wanted.writes.empty() && s.requests.empty()) {
        s.unconfirmed.push_back(self->make_response_promise<absl::Status>());
        auto waiting = s.unconfirmed.back();
        if (s.unconfirmed.size() == 1)
          confirm(self);
        return waiting;
      }
      const auto request = wanted.writes.empty() ? s.last_request : ++s.last_request;
      for (auto& write : wanted.writes)
        s.waiting.push_back({std::move(write), request});
      auto answer = self->make_response_promise<absl::Status>();
      s.requests.emplace_back(request, answer);
      if (!s.busy)
        send_batch(self);
      return answer;
    },
    [self](ledger_retry due) {
      // Only what failed is done again: a batch that is sent twice is answered twice, and the
      // second answer would be taken for that of the next.
      if (due.what == ledger_retry::batch)
        write_batch(self);
      else
        confirm(self);
    },
  };
}

} // namespace reprieve
