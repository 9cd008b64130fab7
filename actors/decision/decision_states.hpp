#pragma once

#include "state/model/decision.hpp"

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace reprieve {

// The course of a decision as a table: what it does next, by the state that it is in and by what
// has happened. docs/protocol.md#the-states-of-a-decision has the same table with the same names.
// Nothing here knows of actors: the decision's actor makes events of answers, and carries out the
// actions.

/// In each but the first and the ended ones, one thing is under way.
enum class decision_state {
  launched,              ///< nothing is under way: it waits for others, where it has to
  voting,                ///< shards are asked for their votes
  writing_parts,         ///< its content is written, where it has more than one part
  committing,            ///< the key that makes it count is written
  applying,              ///< shards put their parts into their records, and tell the victims
  waiting_for_room,      ///< of all node shards
  writing_start,         ///< the key is written as starting
  starting,              ///< shards bind its pods
  writing_end,           ///< it is moved from the open decisions to the finished ones
  aborting,              ///< the key is written as aborted; no shard was asked to apply it
  aborting_applied,      ///< the same after shards were asked: its victims may have been told
  withdrawing_workloads, ///< workload shards take back what it did to their records
  withdrawing_nodes,     ///< node shards do so
  writing_aborted_end,   ///< it is moved to the finished ones as aborted
  reading,               ///< the store is asked how far it came, with nothing applied yet
  reading_applied,       ///< the same after shards were asked to apply it
  reading_starting,      ///< the same of a decision that is known to be starting
  reading_aborted,       ///< the same of one that is known to be aborted
  done,                  ///< ended
  ended_as_aborted,      ///< ended
  given_up,              ///< ended before its commit: the store has nothing of it
  left,                  ///< ended here: its coordinator has another owner, who sees to it
};
inline constexpr std::size_t decision_state_count = 22;

enum class decision_event {
  // From others, who do not know where the decision stands: these come at any time.
  begin,     ///< it waits for nobody: at its launch, or when the coordinator says so
  cancelled, ///< the coordinator does not want it any more
  votes_due, ///< the coordinator waits no longer for votes
  room_free, ///< the last of the node shards has told that its room is free
  // What the shards have answered that were asked together.
  agreed,     ///< all have done as they were asked
  room_taken, ///< its room is not free at once, but it may wait for it
  refused,    ///< one never will
  unanswered, ///< nobody has refused, and somebody has not answered; also of the store
  // What the store has answered to a write.
  written,
  written_as_starting, ///< the commit of a decision whose room is all free
  rejected,            ///< the store takes no such write
  overtaken,           ///< a comparison did not hold: somebody else has written first
  // What the store has.
  found_committed,
  found_starting,
  found_aborted,
  never_had_key, ///< no key, and it was not known to have had one
  key_gone,      ///< no key any more: it has ended
  owner_lost,    ///< its coordinator has another owner
  // From itself.
  retry_due, ///< the pause before another attempt is over
};
inline constexpr std::size_t decision_event_count = 19;

enum class decision_action {
  none,
  ask_votes,
  ask_votes_to_wait, ///< for room that is not free at once
  write_parts,
  write_commit,
  tell_committed,
  apply,
  tell_applied,
  await_room,
  write_start,
  tell_starting,
  begin_start, ///< opens the step in the trace, and starts
  start,       ///< within the step that is open
  tell_started,
  write_end,
  write_abort,
  write_abort_again, ///< for the same reason
  withdraw_from_workloads,
  withdraw_from_nodes,
  read_store,
  pause,    ///< until `retry_due`
  let_go,   ///< of all holds, as nobody has noticed
  tell_end, ///< to people
  close,    ///< the trace ends, and the coordinator learns how the decision ended
  leave,
};

/// What the decision does about an event.
struct decision_answer {
  enum class kind {
    acts,       ///< enters the next state and carries out the actions
    remembered, ///< a cancel: looked at before the next step (`cancelled_before`)
    ignored,
    impossible, ///< nobody can say that now: a mistake in the program
  } how = kind::impossible;
  decision_state next{};
  std::array<decision_action, 2> actions{}; ///< in order
  std::string_view because;                 ///< where it does not act: why
  bool for_cancel = false;                  ///< it does this as it was cancelled
};

/// What the table has to know of the decision beside its state.
struct decision_facts {
  bool cancelled = false;    ///< by now
  bool tells_nobody = false; ///< no victim can have heard of it: it has none
};

decision_answer answer_to(decision_event what, decision_state in, const decision_facts& known = {});

/// What it comes to that the store has an open decision in this phase; nothing where none is
/// written as open in it.
std::optional<decision_event> event_of(decision_phase in_store);

bool is_ended(decision_state state);

std::string_view to_string(decision_state state);
std::string_view to_string(decision_event what);

} // namespace reprieve
