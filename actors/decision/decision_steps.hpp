#pragma once

#include "actors/decision/decision_actor.hpp"

/// The steps of a decision in order; each ends by calling the next. Those that ask shards stand in
/// `decision_actor.cpp`, those that write to the store in `decision_writes.cpp`.
namespace reprieve::decision_steps {

using self_pointer = decision_pointer;

inline decision& decision_of(self_pointer self) {
  return self->state.settings.decision;
}
inline const std::string& id(self_pointer self) {
  return self->state.settings.decision.id;
}

// -- what all steps use ---------------------------------------------------------------------------

trace_context begin_step(self_pointer self, std::string_view name);
void tell_people(self_pointer self, const std::string& type, const std::string& message);
void enter(self_pointer self, decision_phase phase);
/// Tries a step again after a moment: what it does is the same however often it is done.
void try_again(self_pointer self, std::function<void()> step);

// -- the steps ------------------------------------------------------------------------------------

void prepare_all(self_pointer self);
/// Writes the decision's chunks, then the key that makes them count: the commit.
void write_bodies(self_pointer self);
/// Has every shard put its part into its records, and the victims told.
void apply_all(self_pointer self);
void wait_for_room(self_pointer self);
/// From here on the pods start, whatever happens.
void write_starting(self_pointer self);
void start_all(self_pointer self);
/// Moves the decision from the open ones to the finished ones.
void write_end(self_pointer self, absl::Status how);

// -- when something is in the way -----------------------------------------------------------------

/// Goes on from the phase that the store has.
void take_next_step(self_pointer self);
/// When an answer was lost or a comparison did not hold: either the decision came further than is
/// known here, or its owner has lost its place, and others see to it.
void resume_from_store(self_pointer self);
/// Creates the key as aborted, or turns the committed one into it; the first write wins.
void write_abort(self_pointer self, absl::Status why);
/// Takes nominations back, and victims that were not told: first in the workloads' records, so that
/// these know whom they have again when node shards tell who ended meanwhile.
void withdraw_all(self_pointer self);
/// Before the commit: everything is let go, and no victim noticed.
void give_up(self_pointer self, absl::Status why);
/// Whether a write may still be on its way that would make the key of a decision anew that has
/// ended so: nothing that it compares has changed once the key is gone.
bool has_to_be_barred(const decision_actor_state& state, const absl::Status& how);
/// Of a decision that is given up.
void erase_bodies(self_pointer self);
/// The decision is over: its trace ends, and its owner learns how.
void end(self_pointer self, const absl::Status& how);

} // namespace reprieve::decision_steps
