#include "actors/decision/decision_actor.hpp"

#include "actors/decision/decision_actions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace reprieve {

namespace decision_actions {

namespace {

constexpr std::chrono::milliseconds retry_delay{200};

/// One event for every workload that loses something. Of a decision that was recovered they may
/// have been told before, and have come back meanwhile: the shards know.
void report_preempted_workloads(decision_pointer self) {
  auto& settings = self->state.settings;
  if (settings.recovered)
    return;
  for (const auto& one : settings.decision.victims) {
    const bool forced = is_forced(settings.decision, one);
    const auto* how = forced ? "is force-deleted" : one.expected ? "is expected to go" : "goes";
    self->send(settings.events,
               event{0, settings.clock.now(self), "Workload", one.portion.workload,
                     forced ? "ForceDeleted" : "Preempted",
                     fmt::format("{} {}: {}", to_string(one.portion), how, one.reason),
                     settings.decision.id, trace_id_of(settings.decision.trace)});
  }
}

/// One event for every placement that is to have another number of replicas; not of one that was
/// recovered, for the same reason.
void tell_counts(decision_pointer self) {
  auto& settings = self->state.settings;
  if (settings.recovered)
    return;
  for (const auto& one : settings.decision.counts)
    if (one.from != one.to)
      self->send(settings.events,
                 event{0, settings.clock.now(self), "Placement", one.placement,
                       one.to < one.from ? "ScaledDown" : "ScaledUp",
                       fmt::format("{} goes from {} to {} replicas in {}", one.deployment, one.from,
                                   one.to, one.cluster),
                       settings.decision.id, trace_id_of(settings.decision.trace)});
}

void tell_committed(decision_pointer self) {
  const auto& decided = decision_of(self);
  enter(self, decided.at_once ? decision_phase::starting : decision_phase::committed);
  tell_people(self, decided.at_once && decided.counts.empty() ? "Started" : "Committed",
              decided.why.summary);
}

void tell_applied(decision_pointer self) {
  if (!decision_of(self).victims.empty())
    self->send(self->state.settings.owner, victims_told{id(self)});
  report_preempted_workloads(self);
  tell_counts(self);
}

void tell_started(decision_pointer self) {
  const auto& decided = decision_of(self);
  if (decided.at_once && !decided.counts.empty()) {
    report_preempted_workloads(self);
    tell_counts(self);
  }
  if (!decided.at_once)
    tell_people(self, "Started",
                fmt::format("{} pods are bound", self->state.settings.placed.size()));
}

void tell_end(decision_pointer self) {
  if (const auto how = how_it_ends(self->state); !how.ok())
    tell_people(self, "Aborted", std::string(how.message()));
  else if (!decision_of(self).at_once)
    tell_people(self, "Done", "the decision is carried out");
}

/// The decision is over: its trace ends, and its owner learns how.
void close(decision_pointer self, const absl::Status& how) {
  auto& state = self->state;
  if (!how.ok())
    state.whole.fail(std::string(how.message()));
  state.whole.set("outcome", how.ok() ? "done" : "aborted");
  state.step.end();
  state.whole.end();
  if (decision_of(self).at_once || !decision_of(self).counts.empty())
    release_all(self); // nobody asks for it any more
  auto told = how;
  if (!how.ok() && absl::IsInvalidArgument(state.why_aborted)) // it can't be put into records
    told = absl::InvalidArgumentError(how.message());
  self->send(state.settings.owner, decision_ended{id(self), told, has_to_be_barred(state, how)});
  self->quit();
}

/// Before the commit: everything is let go, and no victim noticed.
void let_go(decision_pointer self, const absl::Status& why) {
  release_all(self);
  erase_parts(self);
  tell_people(self, "Aborted", std::string(why.message()));
  close(self, why);
}

void carry_out(decision_pointer self, decision_action what, const absl::Status& why) {
  switch (what) {
  case decision_action::none:
    break;
  case decision_action::ask_votes:
    ask_votes(self);
    break;
  case decision_action::ask_votes_to_wait:
    decision_of(self).at_once = false;
    ask_votes(self);
    break;
  case decision_action::write_parts:
    write_parts(self);
    break;
  case decision_action::write_commit:
    write_commit(self);
    break;
  case decision_action::tell_committed:
    tell_committed(self);
    break;
  case decision_action::apply:
    apply(self);
    break;
  case decision_action::tell_applied:
    tell_applied(self);
    break;
  case decision_action::await_room:
    await_room(self);
    break;
  case decision_action::write_start:
    write_start(self);
    break;
  case decision_action::tell_starting:
    enter(self, decision_phase::starting);
    break;
  case decision_action::begin_start:
    begin_step(self, "decision.start");
    start(self);
    break;
  case decision_action::start:
    start(self);
    break;
  case decision_action::tell_started:
    tell_started(self);
    break;
  case decision_action::write_end:
    write_end(self);
    break;
  case decision_action::write_abort:
    self->state.why_aborted = why;
    write_abort(self);
    break;
  case decision_action::write_abort_again:
    write_abort(self);
    break;
  case decision_action::withdraw_from_workloads:
    withdraw_from_workloads(self);
    break;
  case decision_action::withdraw_from_nodes:
    withdraw_from_nodes(self);
    break;
  case decision_action::read_store:
    read_store(self);
    break;
  case decision_action::pause:
    self->delayed_send(self, retry_delay, retry_step{});
    break;
  case decision_action::let_go:
    let_go(self, why);
    break;
  case decision_action::tell_end:
    tell_end(self);
    break;
  case decision_action::close:
    close(self, how_it_ends(self->state));
    break;
  case decision_action::leave:
    self->quit(can_not_go_on("its coordinator has another owner now"));
    break;
  }
}

} // namespace

trace_context begin_step(decision_pointer self, std::string_view name) {
  self->state.step = start_span(name, self->state.whole.context());
  return self->state.step.context();
}

void tell_people(decision_pointer self, const std::string& type, const std::string& message) {
  auto& settings = self->state.settings;
  for (const auto& workload : settings.decision.workloads)
    self->send(settings.events,
               event{0, settings.clock.now(self), "Workload", workload, type, message,
                     settings.decision.id, trace_id_of(settings.decision.trace)});
}

void enter(decision_pointer self, decision_phase phase) {
  decision_of(self).phase = phase;
  self->send(self->state.settings.owner, decision_moved{id(self), phase});
}

bool is_forced(const decision& what, const victim& one) {
  return std::ranges::any_of(what.force_deletes, [&](const victim_pod& p) {
    return std::ranges::find(one.pods, p) != one.pods.end();
  });
}

absl::Status how_it_ends(const decision_actor_state& state) {
  const bool aborted =
    state.at == decision_state::writing_aborted_end || state.at == decision_state::ended_as_aborted;
  return aborted ? absl::AbortedError(state.settings.decision.abort_reason) : absl::OkStatus();
}

void happens(decision_pointer self, decision_event what, absl::Status why) {
  auto& state = self->state;
  const auto& settings = state.settings;
  const bool tells_nobody = settings.decision.victims.empty() && !settings.recovered;
  const auto answer = answer_to(what, state.at, {state.cancel_reason.has_value(), tells_nobody});
  switch (answer.how) {
  case decision_answer::kind::impossible:
    self->quit(can_not_go_on(fmt::format("decision {} is {}, and has {}: {}", id(self),
                                         to_string(state.at), to_string(what), answer.because)));
    return;
  case decision_answer::kind::ignored:
  case decision_answer::kind::remembered:
    return;
  case decision_answer::kind::acts:
    break;
  }
  if (answer.for_cancel)
    why = absl::CancelledError(*state.cancel_reason);
  state.at = answer.next;
  for (const auto action : answer.actions)
    carry_out(self, action, why);
}

void found_in_store(decision_pointer self, decision_phase phase) {
  if (const auto found = event_of(phase))
    happens(self, *found);
  else
    self->quit(can_not_go_on(
      fmt::format("decision {} is open in a phase in which none is written as open", id(self))));
}

} // namespace decision_actions

running_decision_actor::behavior_type run_decision(decision_pointer self,
                                                   decision_settings settings) {
  using namespace decision_actions;
  auto& state = self->state;
  state.settings = std::move(settings);
  auto& decided = state.settings.decision;
  state.whole = start_span_at(decided.decided, "decision", decided.trace);
  state.whole.set("decision", decided.id);
  state.whole.set("resource_group", decided.resource_group);
  state.whole.set("policy", decided.policy);
  state.whole.set("pods", state.settings.placed.size());
  state.whole.set("victims", decided.victims.size());
  state.whole.set("recovered", state.settings.recovered);
  decided.trace = state.whole.context();
  split_into_parts(self);
  if (state.settings.recovered)
    found_in_store(self, decided.phase);
  else if (!state.settings.waits_for_others)
    happens(self, decision_event::begin);
  return {
    [self](const room_free& there) {
      auto& waiting = self->state.no_room_yet;
      if (waiting.erase(there.shard) > 0 && waiting.empty())
        happens(self, decision_event::room_free);
    },
    [self](const cancel_decision& wanted) {
      auto& reason = self->state.cancel_reason;
      if (reason)
        return;
      reason = wanted.reason;
      happens(self, decision_event::cancelled);
    },
    [self](begin_votes) { happens(self, decision_event::begin); },
    [self](votes_due) {
      happens(self, decision_event::votes_due,
              absl::UnavailableError("a shard did not vote in time"));
    },
    [self](retry_step) { happens(self, decision_event::retry_due); },
  };
}

} // namespace reprieve
