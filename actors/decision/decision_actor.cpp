#include "actors/decision/decision_actor.hpp"

#include "actors/decision/decision_steps.hpp"
#include "actors/interfaces/gathering.hpp"
#include "actors/interfaces/planted_bug.hpp"
#include "state/records/keys.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace reprieve {

namespace decision_steps {

namespace {

constexpr std::chrono::milliseconds retry_delay{200};

/// For the answers of shards to one step. A shard that is gone is known to be at once; for votes
/// the coordinator looks at the clock, once for all decisions (`votes_due`); and what comes after
/// the commit has to be done however long it takes.
gathering of_shards(std::function<void(absl::Status)> done) {
  return gathering{std::move(done), caf::duration{caf::infinite}};
}

/// Sends each touched shard of a kind the message that `make` builds from its parts.
template <class Shards, class Parts, class F>
void ask_touched(self_pointer self, gathering& all, const Shards& shards, const Parts& parts,
                 F make) {
  for (const auto& [number, part] : parts)
    all.ask(self, shards[number], make(part));
}

/// Asks the shards that may have something of the decision to take it back. Where all that is known
/// of it is that a shard has aborted it, others may be about to do so: each of them is asked, lest
/// that comes when the decision is over.
template <class Shards, class Parts>
void ask_to_withdraw(self_pointer self, gathering& all, const Shards& shards, const Parts& parts,
                     const withdraw& order) {
  if (self->state.nodes.empty() && self->state.workloads.empty())
    for (const auto& shard : shards)
      all.ask(self, shard, order);
  else
    ask_touched(self, all, shards, parts, [&](const auto&) { return order; });
}

/// Whether the victim has been leaving for long, and is only not given more time: whatever made it
/// leave was counted and told then.
bool is_forced(const decision& what, const victim& one) {
  return std::ranges::any_of(what.force_deletes, [&](const victim_pod& p) {
    return std::ranges::find(one.pods, p) != one.pods.end();
  });
}

void take_portion(workload_part& from, const victim& one) {
  from.evicted.push_back(one.portion);
  for (const auto& p : one.pods)
    from.evicted_pods.push_back(p.uid);
}

void split_into_parts(self_pointer self) {
  auto& state = self->state;
  auto& settings = state.settings;
  const auto node_shards = static_cast<std::uint32_t>(settings.shards->nodes.size());
  for (auto& part : std::exchange(settings.parts, {})) {
    const auto number = shard_number(part.node, node_shards);
    state.nodes[number].push_back(std::move(part));
  }
  std::map<std::string, workload_part> by_workload;
  for (const auto& name : settings.decision.workloads) {
    const auto seen = settings.generations.find(name);
    auto& part = by_workload[name];
    part.workload = name;
    part.generation = seen == settings.generations.end() ? 0 : seen->second;
  }
  for (const auto& shared : settings.placed) {
    const auto& p = shared->what();
    by_workload[p.workload].placed.emplace_back(pod_slot{p.group, p.replica, p.index},
                                                p.incarnation);
  }
  for (const auto& one : settings.decision.victims) {
    if (is_forced(settings.decision, one))
      continue;
    auto& part = by_workload[one.portion.workload];
    part.workload = one.portion.workload;
    if (one.counted)
      part.loses_replicas = true;
    else
      take_portion(part, one);
  }
  const auto workload_shards = static_cast<std::uint32_t>(settings.shards->workloads.size());
  for (auto& [name, part] : by_workload)
    state.workloads[shard_number(name, workload_shards)].workloads.push_back(std::move(part));
  for (const auto& change : settings.decision.counts)
    state.workloads[shard_number(change.placement, workload_shards)].counts.push_back(change);
  for (const auto& part : settings.budgets)
    state.workloads[shard_number(part.budget, workload_shards)].budgets.push_back(part);
}

void remember_epoch(decision_actor_state& state, const ownership& owner) {
  state.epochs.emplace(owner.key(), owner.epoch());
}

void release_all(self_pointer self) {
  const auto& shards = *self->state.settings.shards;
  for (const auto& [number, parts] : self->state.nodes)
    self->send(shards.nodes[number], release_hold{id(self)});
  for (const auto& [number, parts] : self->state.workloads)
    self->send(shards.workloads[number], release_hold{id(self)});
}

/// One event for every workload that loses something. Of a decision that was recovered they may
/// have been told before, and have come back meanwhile: the shards know.
void report_preempted_workloads(self_pointer self) {
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

/// One event for every placement that is to have another number of replicas; likewise.
void tell_counts(self_pointer self) {
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

void apply_to_all(self_pointer self, gathering& all, const trace_context& trace) {
  const auto& state = self->state;
  const auto& shards = *state.settings.shards;
  const bool at_once = decision_of(self).at_once;
  const bool recovered = state.settings.recovered;
  ask_touched(self, all, shards.nodes, state.nodes, [&](const auto& parts) {
    return apply_parts<node_parts>{id(self), parts, at_once, trace, recovered};
  });
  ask_touched(self, all, shards.workloads, state.workloads, [&](const auto& parts) {
    return apply_parts<workload_parts>{id(self), parts, false, trace};
  });
}

void withdraw_from_nodes(self_pointer self, const withdraw& order) {
  auto& state = self->state;
  auto nodes = of_shards([self](absl::Status withdrawn) {
    if (withdrawn.ok())
      write_end(self, absl::AbortedError(decision_of(self).abort_reason));
    else
      try_again(self, [self] { withdraw_all(self); });
  });
  ask_to_withdraw(self, nodes, state.settings.shards->nodes, state.nodes, order);
  nodes.complete();
}

} // namespace

trace_context begin_step(self_pointer self, std::string_view name) {
  self->state.step = start_span(name, self->state.whole.context());
  return self->state.step.context();
}

void tell_people(self_pointer self, const std::string& type, const std::string& message) {
  auto& settings = self->state.settings;
  for (const auto& workload : settings.decision.workloads)
    self->send(settings.events,
               event{0, settings.clock.now(self), "Workload", workload, type, message,
                     settings.decision.id, trace_id_of(settings.decision.trace)});
}

void enter(self_pointer self, decision_phase phase) {
  decision_of(self).phase = phase;
  self->send(self->state.settings.owner, decision_moved{id(self), phase});
}

void try_again(self_pointer self, std::function<void()> step) {
  self->state.again = std::move(step);
  self->delayed_send(self, retry_delay, retry_step{});
}

void prepare_all(self_pointer self) {
  auto& state = self->state;
  const auto trace = begin_step(self, "decision.prepare");
  const auto& settings = state.settings;
  const auto& group = settings.decision.resource_group;
  state.voting = true;
  remember_epoch(state, *settings.ground);
  for (const auto& [number, parts] : state.nodes)
    remember_epoch(state, *settings.shards->node_owners[number]);
  for (const auto& [number, parts] : state.workloads)
    remember_epoch(state, *settings.shards->workload_owners[number]);
  auto all = of_shards([self](absl::Status votes) {
    self->state.voting = false;
    const bool refused = !votes.ok() && planted != planted_bug::partial_vote;
    // Somebody who is to leave may still be where the plan saw nobody, as what another decision
    // waits for came sooner: then this one waits as well.
    if (refused && absl::IsFailedPrecondition(votes) && decision_of(self).counts.empty()
        && std::exchange(decision_of(self).at_once, false))
      prepare_all(self);
    else if (refused)
      give_up(self, votes);
    else if (self->state.cancelled)
      give_up(self, absl::CancelledError(self->state.cancel_reason));
    else
      write_bodies(self);
  });
  ask_touched(self, all, settings.shards->nodes, state.nodes, [&](const auto& parts) {
    return prepare<node_parts>{id(self), group, parts, settings.decision.at_once, trace};
  });
  ask_touched(self, all, settings.shards->workloads, state.workloads, [&](const auto& parts) {
    return prepare<workload_parts>{id(self), group, parts, false, trace};
  });
  all.complete();
}

void apply_all(self_pointer self) {
  auto& state = self->state;
  // Who recovers a decision can't know that no victim was told.
  if (state.cancelled && !state.told && !state.settings.recovered) {
    write_abort(self, absl::CancelledError(state.cancel_reason));
    return;
  }
  const auto trace = begin_step(self, "decision.apply");
  state.step.set("victims", decision_of(self).victims.size());
  state.told = !decision_of(self).victims.empty();
  auto all = of_shards([self](absl::Status applied) {
    self->state.can_not_be_written = absl::IsInvalidArgument(applied);
    // Its room is not there any more, or never will be in a record.
    if (absl::IsFailedPrecondition(applied) || absl::IsInvalidArgument(applied)) {
      write_abort(self, applied);
      return;
    }
    if (!applied.ok()) {
      try_again(self, [self] { apply_all(self); });
      return;
    }
    if (self->state.told)
      self->send(self->state.settings.owner, victims_told{id(self)});
    report_preempted_workloads(self);
    tell_counts(self);
    wait_for_room(self);
  });
  apply_to_all(self, all, trace);
  all.complete();
}

void wait_for_room(self_pointer self) {
  auto& state = self->state;
  if (state.cancelled) {
    write_abort(self, absl::CancelledError(state.cancel_reason));
    return;
  }
  begin_step(self, "decision.wait_for_room");
  state.no_room_yet.clear();
  for (const auto& [number, parts] : state.nodes) {
    state.no_room_yet.insert(shard_name(decision_of(self).resource_group, number));
    self->send(state.settings.shards->nodes[number],
               await_room{id(self), self, decision_of(self).policy == "quota"});
  }
  if (state.no_room_yet.empty())
    write_starting(self);
}

void start_all(self_pointer self) {
  auto& state = self->state;
  const auto& shards = *state.settings.shards;
  const auto trace = state.step.context();
  auto all = of_shards([self](absl::Status started) {
    if (!started.ok()) {
      try_again(self, [self] { start_all(self); });
      return;
    }
    if (decision_of(self).at_once && !decision_of(self).counts.empty()) {
      report_preempted_workloads(self);
      tell_counts(self);
    }
    if (!decision_of(self).at_once)
      tell_people(self, "Started",
                  fmt::format("{} pods are bound", self->state.settings.placed.size()));
    write_end(self, absl::OkStatus());
  });
  if (decision_of(self).at_once) {
    apply_to_all(self, all, trace);
  } else {
    ask_touched(self, all, shards.nodes, state.nodes, [&](const auto&) {
      return start_pods{id(self), trace};
    });
  }
  all.complete();
}

void end(self_pointer self, const absl::Status& how) {
  auto& state = self->state;
  if (!how.ok())
    state.whole.fail(std::string(how.message()));
  state.whole.set("outcome", how.ok() ? "done" : "aborted");
  state.step.end();
  state.whole.end();
  if (decision_of(self).at_once || !decision_of(self).counts.empty())
    release_all(self); // nobody asks for it any more
  auto told = how;
  if (!how.ok() && state.can_not_be_written)
    told = absl::InvalidArgumentError(how.message());
  self->send(state.settings.owner, decision_ended{id(self), told, has_to_be_barred(state, how)});
  self->quit();
}

void give_up(self_pointer self, absl::Status why) {
  release_all(self);
  erase_bodies(self);
  tell_people(self, "Aborted", std::string(why.message()));
  end(self, why);
}

void take_next_step(self_pointer self) {
  switch (decision_of(self).phase) {
  case decision_phase::preparing:
    prepare_all(self);
    break;
  case decision_phase::committed:
    apply_all(self);
    break;
  case decision_phase::starting:
    begin_step(self, "decision.start");
    start_all(self);
    break;
  case decision_phase::aborted:
    withdraw_all(self);
    break;
  case decision_phase::done:
    end(self, absl::OkStatus());
    break;
  }
}

void withdraw_all(self_pointer self) {
  auto& state = self->state;
  // Before any shard lets a victim go, so that the owner does not take it for leaving still.
  enter(self, decision_phase::aborted);
  const auto trace = begin_step(self, "decision.withdraw");
  withdraw order{id(self), {}, {}, trace};
  for (const auto& one : decision_of(self).victims)
    (decision_of(self).victims_told ? order.told : order.reprieved).push_back(one.portion);
  auto workloads = of_shards([self, order](absl::Status withdrawn) {
    if (withdrawn.ok())
      withdraw_from_nodes(self, order);
    else
      try_again(self, [self] { withdraw_all(self); });
  });
  ask_to_withdraw(self, workloads, state.settings.shards->workloads, state.workloads, order);
  workloads.complete();
}

} // namespace decision_steps

running_decision_actor::behavior_type run_decision(decision_pointer self,
                                                   decision_settings settings) {
  using namespace decision_steps;
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
  state.waits = state.settings.waits_for_others;
  if (!state.waits)
    take_next_step(self);
  return {
    [self](const room_free& there) {
      auto& waiting = self->state.no_room_yet;
      if (waiting.erase(there.shard) > 0 && waiting.empty() && !self->state.cancelled)
        write_starting(self);
    },
    [self](const cancel_decision& wanted) {
      auto& s = self->state;
      if (s.cancelled)
        return;
      s.cancelled = true;
      s.cancel_reason = wanted.reason;
      // Who waits has nothing under way; the other steps look at the flag.
      if (s.waits)
        give_up(self, absl::CancelledError(wanted.reason));
      else if (!s.no_room_yet.empty())
        write_abort(self, absl::CancelledError(wanted.reason));
    },
    [self](begin_votes) {
      if (std::exchange(self->state.waits, false))
        take_next_step(self);
    },
    [self](votes_due) {
      if (self->state.voting)
        give_up(self, absl::UnavailableError("a shard did not vote in time"));
    },
    [self](retry_step) {
      if (auto again = std::exchange(self->state.again, nullptr))
        again();
    },
  };
}

} // namespace reprieve
