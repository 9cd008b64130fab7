#pragma once

#include "actors/decision/decision_actor.hpp"
#include "actors/decision/decision_states.hpp"

/// What a decision does in its states: each function carries out one action of the table in
/// `decision_states.cpp`, and ends by making an event of the answer. Those that ask shards stand in
/// `decision_shards.cpp`, those that use the store in `decision_writes.cpp`, and those that tell
/// others in `decision_actor.cpp`.
namespace reprieve::decision_actions {

inline decision& decision_of(decision_pointer self) {
  return self->state.settings.decision;
}
inline const std::string& id(decision_pointer self) {
  return self->state.settings.decision.id;
}

// -- what all actions use -------------------------------------------------------------------------

/// Something has happened: does what the table says. `why` is for the actions that end the
/// decision.
void happens(decision_pointer self, decision_event what, absl::Status why = absl::OkStatus());
/// The store has the decision in this phase.
void found_in_store(decision_pointer self, decision_phase phase);
trace_context begin_step(decision_pointer self, std::string_view name);
void tell_people(decision_pointer self, const std::string& type, const std::string& message);
/// Enters a phase that the coordinator is told of.
void enter(decision_pointer self, decision_phase phase);
/// Whether the victim has been leaving for long, and is only not given more time: whatever made it
/// leave was counted and told then.
bool is_forced(const decision& what, const victim& one);
/// How it has ended, or is about to.
absl::Status how_it_ends(const decision_actor_state& state);

// -- what shards are asked ------------------------------------------------------------------------

void split_into_parts(decision_pointer self);
void ask_votes(decision_pointer self);
/// Has every shard put its part into its records, and the victims told.
void apply(decision_pointer self);
void await_room(decision_pointer self);
void start(decision_pointer self);
/// Nominations are taken back, and victims that were not told: first in the workloads' records, so
/// that these know whom they have again when node shards tell who ended meanwhile.
void withdraw_from_workloads(decision_pointer self);
void withdraw_from_nodes(decision_pointer self);
/// Has the shards forget the decision.
void release_all(decision_pointer self);

// -- what the store is asked ----------------------------------------------------------------------

/// Writes the decision's parts, where there is more than the one that goes along with the commit.
void write_parts(decision_pointer self);
/// Writes the key that makes them count.
void write_commit(decision_pointer self);
/// From here on the pods start, whatever happens.
void write_start(decision_pointer self);
/// Moves the decision from the open ones to the finished ones.
void write_end(decision_pointer self);
/// Creates the key as aborted, or turns the committed one into it; the first write wins.
void write_abort(decision_pointer self);
/// When an answer was lost or a comparison did not hold: either the decision came further than is
/// known here, or its owner has lost its place, and others see to it.
void read_store(decision_pointer self);
/// Of a decision that is given up.
void erase_parts(decision_pointer self);
/// Whether a write may still be on its way that would make the key of a decision anew that has
/// ended so: nothing that it compares has changed once the key is gone.
bool has_to_be_barred(const decision_actor_state& state, const absl::Status& how);

} // namespace reprieve::decision_actions
