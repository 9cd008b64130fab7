#pragma once

#include "actors/durability/ledger.hpp"
#include "actors/interfaces/decision_protocol.hpp"
#include "actors/interfaces/planted_bug.hpp"
#include "protocol/records/records.hpp"
#include "state/containers/name_map.hpp"
#include "state/records/keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace reprieve {

/// A shard's reminder to itself that a hold may be due.
struct look_at_holds {};

/// How many holds there are.
struct count_holds {};

/// From a coordinator that begins anew: decisions of an earlier epoch than its own can't commit any
/// more, as their owner's record is another by now. Those that had are `open`.
struct drop_votes {
  revision before = 0;
  std::set<std::string> open;

  bool operator==(const drop_votes&) const = default;
};

/// A change that would break votes, and what it changes.
struct waiting_change {
  std::vector<std::string> names;
  std::function<void()> proceed;
  std::string why;
};

/// What a shard has said yes to and holds until the decision comes back. Parts are what was asked
/// for: `node_parts` or `workload_parts`.
template <class Parts>
struct hold_book {
  struct hold {
    std::string resource_group;
    Parts parts;
    time_point until = no_time;
    bool at_once = false;        ///< once committed, it does not wait for anything
    std::vector<std::string> on; ///< what has to stay as it is, by name
    bool is_aborting = false;    ///< its abort is on its way to the store
  };

  std::string shard;
  store_actor store;
  ownership_pointer owner;
  duration time{0}; ///< how long a decision may take from the vote to the commit
  wall_clock clock;

  name_map<hold> held;                     ///< by decision
  name_map<std::set<std::string>> held_on; ///< the decisions, by what has to stay as it is for them
  std::vector<waiting_change> waiting;
  revision open_from = 0; ///< earlier epochs of the coordinator get no votes any more
  /// Decisions whose abort this shard wrote, and at which revision: the key goes when the decision
  /// says that it has given up as well.
  std::map<std::string, revision, std::less<>> aborted_here;
  /// Called when a hold has gone, if set.
  std::function<void(const std::string& decision, const Parts& parts)> gone;
  bool looks_at_holds = false; ///< whether a reminder is under way

  bool erase(const std::string& decision) {
    const auto found = held.find(decision);
    if (found == held.end())
      return false;
    const auto parts = std::move(found->second.parts);
    for (const auto& name : found->second.on)
      if (const auto on = held_on.find(name); on != held_on.end()) {
        on->second.erase(decision);
        if (on->second.empty())
          held_on.erase(on);
      }
    held.erase(found);
    if (gone)
      gone(decision, parts);
    return true;
  }
};

/// An empty book for a shard that writes like its ledger.
template <class Parts>
hold_book<Parts> holds_of(std::string shard, const ledger_settings& ledger, duration time,
                          wall_clock clock) {
  hold_book<Parts> holds;
  holds.shard = std::move(shard);
  holds.store = ledger.store;
  holds.owner = ledger.owner;
  holds.time = time;
  holds.clock = clock;
  return holds;
}

// The actor's state has its hold_book as `holds`.

namespace detail {

template <class Self>
void schedule_expiry_check(Self self) {
  auto& holds = self->state.holds;
  if (holds.held.empty() || std::exchange(holds.looks_at_holds, true))
    return;
  auto first = time_point::max();
  for (const auto& [decision, hold] : holds.held)
    first = std::min(first, hold.until);
  self->delayed_send(self, std::max(first - holds.clock.now(self), duration{0}), look_at_holds{});
}

/// What the decision's key says: aborted, or how far it came; absent ones can't be told from those
/// that are over.
template <class Self>
void follow_key(Self self, const std::string& decision) {
  self
    ->request(self->state.holds.store, caf::infinite,
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
template <class Self>
void forget_abort(Self self, const std::string& decision, revision at) {
  auto& holds = self->state.holds;
  const auto key = keys::open_decision(decision);
  self
    ->request(holds.store, caf::infinite,
              transaction{{holds.owner->held(), {key, compared::modified, at}}, {erase{just(key)}}})
    .then([](transaction_answer&) {}, [](caf::error&) {});
}

} // namespace detail

/// Holds what the decision asked for, for which these have to stay as they are.
template <class Self, class Parts>
void keep_hold(Self self, const prepare<Parts>& asked, std::vector<std::string> on) {
  auto& holds = self->state.holds;
  for (const auto& name : on)
    holds.held_on[name].insert(asked.decision);
  holds.held[asked.decision] = {asked.resource_group, asked.parts,
                                holds.clock.now(self) + holds.time, asked.at_once, std::move(on)};
  detail::schedule_expiry_check(self);
}

/// Behind the id of a decision among those that a shard has carried out: of this one it has done
/// the first half.
inline constexpr const char* intent_mark = "/intent";

inline std::string without_intent_mark(const std::string& marked) {
  return marked.substr(0, marked.find(intent_mark));
}

/// In which epoch of its coordinator a decision was made: its name begins with that.
inline revision epoch_of_decision(std::string_view id) {
  revision epoch = 0;
  std::from_chars(id.data(), id.data() + id.size(), epoch, 16);
  return epoch;
}

/// A decision of a coordinator that is gone may ask after its successor has begun: nobody would let
/// the hold go.
template <class Parts>
absl::Status may_vote(const hold_book<Parts>& holds, std::string_view decision) {
  if (epoch_of_decision(decision) < holds.open_from)
    return absl::AbortedError("the resource group has a newer coordinator");
  return absl::OkStatus();
}

template <class Self>
void drop_earlier_votes(Self self, const drop_votes& order) {
  auto& holds = self->state.holds;
  holds.open_from = std::max(holds.open_from, order.before);
  std::vector<std::string> dropped;
  for (const auto& [decision, hold] : holds.held)
    if (epoch_of_decision(decision) < order.before && !order.open.contains(decision))
      dropped.push_back(decision);
  for (const auto& decision : dropped)
    holds.erase(decision);
  std::erase_if(self->state.ledger.carried_out, [&](const std::string& marked) {
    return epoch_of_decision(marked) < order.before
           && !order.open.contains(without_intent_mark(marked));
  });
}

/// The decision has given up before its commit, or is over.
template <class Self>
void release(Self self, const std::string& decision) {
  auto& holds = self->state.holds;
  holds.erase(decision);
  self->state.ledger.carried_out.erase(decision);
  self->state.ledger.carried_out.erase(decision + intent_mark);
  if (const auto aborted = holds.aborted_here.find(decision); aborted != holds.aborted_here.end()) {
    detail::forget_abort(self, decision, aborted->second);
    holds.aborted_here.erase(aborted);
  }
}

/// Takes a hold back: by writing the abort, never by just dropping a yes
/// (docs/protocol.md#two-phase-commit). Until the abort is known to be there, the hold stays.
template <class Self>
void take_back(Self self, const std::string& decision, const std::string& why) {
  auto& holds = self->state.holds;
  if (is_planted(planted_bug::drops_yes)) {
    holds.erase(decision);
    return;
  }
  auto& hold = holds.held[decision];
  hold.until = holds.clock.now(self) + std::min<duration>(holds.time, std::chrono::seconds{1});
  reprieve::decision aborted;
  aborted.id = decision;
  aborted.resource_group = hold.resource_group;
  aborted.phase = decision_phase::aborted;
  aborted.abort_reason = why;
  const auto key = keys::open_decision(decision);
  // Neither does it come late: the shard writes something when it carries the decision out.
  write_aside(
    self,
    [self, decision, key, value = encode(head_of(aborted, 0))]() -> std::optional<transaction> {
      const auto held = self->state.holds.held.find(decision);
      if (held == self->state.holds.held.end() || std::exchange(held->second.is_aborting, true))
        return std::nullopt; // it is gone, or this was asked for before
      return transaction{{{key, compared::modified, 0}}, {put{key, value, 0}}};
    },
    [self, decision](transaction_answer& answer) {
      if (const auto held = self->state.holds.held.find(decision);
          held != self->state.holds.held.end())
        held->second.is_aborting = false;
      if (!answer.ok())
        return; // tried again when the hold is due again
      if (!answer->succeeded)
        detail::follow_key(self, decision);
      else if (self->state.holds.erase(decision))
        self->state.holds.aborted_here[decision] = answer->current;
      else // it was released meanwhile
        detail::forget_abort(self, decision, answer->current);
    });
}

/// Whether a change of what has this name waits.
template <class Parts>
bool is_to_change(const hold_book<Parts>& holds, const std::string& name) {
  return std::ranges::any_of(holds.waiting, [&](const waiting_change& one) {
    return std::ranges::find(one.names, name) != one.names.end();
  });
}

/// Goes on with a change of what has these names as soon as no vote is in its way. Decisions that
/// have such a vote are aborted, unless they are committed already and take their hold themselves.
template <class Self>
void change_when_free(Self self, std::vector<std::string> names, std::string why,
                      std::function<void()> proceed) {
  auto& holds = self->state.holds;
  // Changes keep their order: one that waits lets none of the same name pass.
  const bool behind_others =
    std::ranges::any_of(names, [&](const auto& name) { return is_to_change(holds, name); });
  std::set<std::string> decisions;
  for (const auto& name : names)
    if (const auto on = holds.held_on.find(name); on != holds.held_on.end())
      decisions.insert(on->second.begin(), on->second.end());
  if (decisions.empty() && !behind_others) {
    proceed();
    return;
  }
  holds.waiting.push_back({std::move(names), std::move(proceed), why});
  for (const auto& decision : decisions)
    take_back(self, decision, why);
}

/// A hold has gone: changes that waited for it may go on.
template <class Self>
void continue_changes(Self self) {
  for (auto& one : std::exchange(self->state.holds.waiting, {}))
    change_when_free(self, std::move(one.names), std::move(one.why), std::move(one.proceed));
}

/// Takes back the holds of decisions that took too long.
template <class Self>
void take_back_due_holds(Self self) {
  auto& holds = self->state.holds;
  holds.looks_at_holds = false;
  const auto now = holds.clock.now(self);
  std::vector<std::string> due;
  for (const auto& [decision, hold] : holds.held)
    if (hold.until <= now)
      due.push_back(decision);
  for (const auto& decision : due)
    take_back(self, decision,
              fmt::format("shard {} waited too long for it and took its hold back", holds.shard));
  detail::schedule_expiry_check(self);
}

} // namespace reprieve

REPRIEVE_MESSAGE(reprieve::look_at_holds)
REPRIEVE_MESSAGE(reprieve::count_holds)
REPRIEVE_MESSAGE(reprieve::drop_votes)
