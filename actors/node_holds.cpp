#include "actors/node_holds.hpp"

#include "actors/planted_bug.hpp"
#include "protocol/records.hpp"
#include "state/keys.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace reprieve {

namespace {

using record_pointer = record_table<node_record>::pointer;

/// The newest form of the record, but with everybody there whose leaving is not durable yet: should
/// that be lost, they stay. Null where there is no such node.
record_pointer sure_form(const node_shard_state& state, const std::string& name) {
  auto newest = state.records.newest(name);
  const auto durable = state.records.durable(name);
  if (!newest || !durable || newest == durable)
    return newest;
  auto sure = std::make_shared<node_record>(*newest);
  for (const auto& p : durable->pods) {
    if (!takes_room(p.phase) || is_leaving(p.phase))
      continue;
    const pod* now = find_pod(*newest, p.uid);
    if (now == nullptr || is_leaving(now->phase))
      put_pod(*sure, p);
  }
  return sure;
}

void look_later(node_shard_pointer self) {
  auto& state = self->state;
  if (state.holds.empty() || std::exchange(state.looks_at_holds, true))
    return;
  auto first = time_point::max();
  for (const auto& [decision, hold] : state.holds)
    first = std::min(first, hold.until);
  self->delayed_send(self, std::max(first - state.clock.now(self), duration{0}), look_at_holds{});
}

/// What the decision's key says: aborted, or how far it came; absent ones can't be told from those
/// that are over.
void follow_key(node_shard_pointer self, const std::string& decision) {
  self
    ->request(self->state.store, answer_time,
              range_request{just(keys::open_decision(decision)), 0, 0, false})
    .then(
      [self, decision](range_answer& answer) {
        if (!answer.ok() || answer->values.empty())
          return; // asked again when the hold is due again
        const auto head = decode<decision_head>(answer->values.front().value);
        if (head.ok() && head->summary.phase == decision_phase::aborted)
          self->state.holds.erase(decision);
      },
      [](caf::error&) {});
}

/// The decision knows that it is given up: nobody needs the abort any more that was written for it.
void forget_abort(node_shard_pointer self, const std::string& decision, revision at) {
  auto& state = self->state;
  const auto key = keys::open_decision(decision);
  self
    ->request(state.store, answer_time,
              transaction{
                {{state.owner_key, compared::modified, state.epoch}, {key, compared::modified, at}},
                {erase{just(key)}}})
    .then([](transaction_answer&) {}, [](caf::error&) {});
}

/// Takes a hold back that its decision does not come back for: by writing the abort, never by just
/// dropping a yes (DESIGN 4.3). Until the abort is known to be there, the hold stays.
void take_back(node_shard_pointer self, const std::string& decision) {
  auto& state = self->state;
  if (planted == planted_bug::drops_yes) {
    state.holds.erase(decision);
    return;
  }
  auto& hold = state.holds[decision];
  hold.until = state.clock.now(self) + state.hold_time;
  reprieve::decision aborted;
  aborted.id = decision;
  aborted.resource_group = hold.resource_group;
  aborted.phase = decision_phase::aborted;
  aborted.abort_reason =
    fmt::format("shard {} waited too long for it and took its hold back", state.shard);
  const auto key = keys::open_decision(decision);
  transaction writes{
    {{state.owner_key, compared::modified, state.epoch}, {key, compared::modified, 0}},
    {put{key, encode(head_of(aborted, 0)), 0}}};
  self->request(state.store, answer_time, std::move(writes))
    .then(
      [self, decision](transaction_answer& answer) {
        if (!answer.ok())
          return;
        if (!answer->succeeded)
          follow_key(self, decision);
        else if (self->state.holds.erase(decision) > 0)
          self->state.aborted_here[decision] = answer->current;
        else // it was released meanwhile
          forget_abort(self, decision, answer->current);
      },
      [](caf::error&) {});
}

} // namespace

void take_back_due_holds(node_shard_pointer self) {
  auto& state = self->state;
  state.looks_at_holds = false;
  const auto now = state.clock.now(self);
  std::vector<std::string> due;
  for (const auto& [decision, hold] : state.holds)
    if (hold.until <= now)
      due.push_back(decision);
  for (const auto& decision : due)
    take_back(self, decision);
  look_later(self);
}

absl::Status vote(node_shard_pointer self, const prepare<node_part>& asked) {
  auto& state = self->state;
  for (const auto& part : asked.parts) {
    const auto record = sure_form(state, part.node);
    if (!record)
      return absl::FailedPreconditionError(fmt::format("node {} is gone", part.node));
    std::vector<const node_part*> held;
    for (const auto& [decision, hold] : state.holds)
      for (const auto& other : hold.parts)
        if (other.node == part.node && decision != asked.decision)
          held.push_back(&other);
    if (auto possible = can_promise(*record, held, part); !possible.ok())
      return possible;
  }
  state.holds[asked.decision] = {asked.resource_group, asked.parts,
                                 state.clock.now(self) + state.hold_time};
  look_later(self);
  return absl::OkStatus();
}

void release(node_shard_pointer self, const std::string& decision) {
  auto& state = self->state;
  state.holds.erase(decision);
  if (const auto aborted = state.aborted_here.find(decision); aborted != state.aborted_here.end()) {
    forget_abort(self, decision, aborted->second);
    state.aborted_here.erase(aborted);
  }
}

} // namespace reprieve
