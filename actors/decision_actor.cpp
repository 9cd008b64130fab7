#include "actors/decision_actor.hpp"

#include "actors/gathering.hpp"
#include "actors/planted_bug.hpp"
#include "protocol/records.hpp"
#include "state/keys.hpp"

#include <fmt/format.h>

#include <memory>

namespace reprieve {

namespace {

using self_pointer = decision_actor::stateful_pointer<decision_state>;

constexpr std::chrono::milliseconds retry_delay{200};

// The steps in order; each ends by calling the next.
void prepare_all(self_pointer self);
void write_bodies(self_pointer self, std::size_t first);
void write_commit(self_pointer self);
void apply_all(self_pointer self);
void actuate_all(self_pointer self);
void wait_for_room(self_pointer self);
void write_starting(self_pointer self);
void start_all(self_pointer self);
void resume_from_store(self_pointer self);
void write_end(self_pointer self, absl::Status how);
void give_up(self_pointer self, absl::Status why);
void write_abort(self_pointer self, absl::Status why);
void withdraw_all(self_pointer self);
void withdraw_from_nodes(self_pointer self, const withdraw& order);
void go_on(self_pointer self);

decision& what(self_pointer self) {
  return self->state.settings.what;
}

const std::string& id(self_pointer self) {
  return self->state.settings.what.id;
}

trace_context begin_step(self_pointer self, std::string_view name) {
  self->state.step = start_span(name, self->state.whole.context());
  return self->state.step.context();
}

void tell_people(self_pointer self, std::string type, std::string message) {
  auto& settings = self->state.settings;
  for (const auto& workload : settings.what.workloads)
    self->send(settings.events, event{0, settings.clock.now(self), "Workload", workload, type,
                                      message, settings.what.id, trace_id_of(settings.what.trace)});
}

void enter(self_pointer self, decision_phase phase) {
  what(self).phase = phase;
  self->send(self->state.settings.owner, decision_moved{id(self), phase});
}

/// Tries a step again after a moment: what it does is the same however often it is done.
void try_again(self_pointer self, std::function<void()> step) {
  self->state.again = std::move(step);
  self->delayed_send(self, retry_delay, retry_step{});
}

/// Sends each touched shard of a kind the message that `make` builds from its parts.
template <class Shards, class Parts, class F>
void ask_touched(self_pointer self, gathering& all, const Shards& shards, const Parts& parts,
                 F make) {
  for (const auto& [number, part] : parts)
    all.ask(self, shards[number], make(part));
}

void split_into_parts(self_pointer self) {
  auto& state = self->state;
  const auto& settings = state.settings;
  const auto node_shards = static_cast<std::uint32_t>(settings.shards.nodes.size());
  for (auto& part : parts_of(settings.what)) {
    const auto number = shard_number(part.node, node_shards);
    state.nodes[number].push_back(std::move(part));
  }
  std::map<std::string, workload_part> by_workload;
  for (const auto& name : settings.what.workloads) {
    const auto seen = settings.generations.find(name);
    by_workload[name] = {name, seen == settings.generations.end() ? 0 : seen->second, {}};
  }
  for (const auto& one : settings.what.victims) {
    auto& part = by_workload[one.portion.workload];
    part.workload = one.portion.workload;
    part.evicted.push_back(one.portion);
  }
  const auto workload_shards = static_cast<std::uint32_t>(settings.shards.workloads.size());
  for (auto& [name, part] : by_workload)
    state.workloads[shard_number(name, workload_shards)].push_back(std::move(part));
}

void release_all(self_pointer self) {
  const auto& shards = self->state.settings.shards;
  for (const auto& [number, parts] : self->state.nodes)
    self->send(shards.nodes[number], release_hold{id(self)});
}

void prepare_all(self_pointer self) {
  auto& state = self->state;
  const auto trace = begin_step(self, "decision.prepare");
  const auto& settings = state.settings;
  const auto& group = settings.what.resource_group;
  gathering all([self](absl::Status votes) {
    if (!votes.ok() && planted != planted_bug::partial_vote)
      give_up(self, votes);
    else if (self->state.cancelled)
      give_up(self, absl::CancelledError(self->state.cancel_reason));
    else
      write_bodies(self, 0);
  });
  ask_touched(self, all, settings.shards.nodes, state.nodes, [&](const auto& parts) {
    return prepare<node_part>{id(self), group, parts, trace};
  });
  ask_touched(self, all, settings.shards.workloads, state.workloads, [&](const auto& parts) {
    return prepare<workload_part>{id(self), group, parts, trace};
  });
  if (!settings.queues.empty())
    all.ask(self, settings.shards.queues,
            prepare<queue_part>{id(self), group, settings.queues, trace});
  all.complete();
}

/// What every write of the decision compares: its owner is still in its place.
std::vector<comparison> owned(const decision_settings& settings) {
  if (planted == planted_bug::no_epoch)
    return {};
  return {{settings.owner_key, compared::modified, settings.epoch}};
}

/// Likewise, and that its key is as it was left.
std::vector<comparison> owned_and(const decision_settings& settings, revision key_revision) {
  auto all = owned(settings);
  all.push_back({keys::open_decision(settings.what.id), compared::modified, key_revision});
  return all;
}

/// Writes the chunks from `first` on, some at a time, before the key that makes them count.
void write_bodies(self_pointer self, std::size_t first) {
  constexpr std::size_t at_once = 4;
  auto& settings = self->state.settings;
  if (first == 0)
    begin_step(self, "decision.commit");
  const auto bodies = encode_bodies(settings.what);
  settings.chunks = static_cast<std::uint32_t>(bodies.size());
  if (first >= bodies.size()) {
    write_commit(self);
    return;
  }
  transaction writes{owned(settings), {}};
  const auto last = std::min(bodies.size(), first + at_once);
  for (auto chunk = first; chunk < last; ++chunk)
    writes.operations.emplace_back(
      put{keys::decision_body(id(self), static_cast<std::uint32_t>(chunk)), bodies[chunk], 0});
  self->request(settings.store, answer_time, std::move(writes))
    .then(
      [self, last](transaction_answer& answer) {
        if (!answer.ok())
          give_up(self, answer.status());
        else if (answer->succeeded)
          write_bodies(self, last);
        else
          self->quit(lost_ownership()); // with all that this replica has under way
      },
      [self](caf::error& error) { give_up(self, to_status(error)); });
}

/// Creates the decision's key as committed, if nobody aborted it first.
void write_commit(self_pointer self) {
  auto& settings = self->state.settings;
  auto committed = settings.what;
  committed.phase = decision_phase::committed;
  committed.committed = settings.clock.now(self);
  const auto key = keys::open_decision(id(self));
  transaction writes{owned_and(settings, 0),
                     {put{key, encode(head_of(committed, settings.chunks)), 0}}};
  self->request(settings.store, answer_time, std::move(writes))
    .then(
      [self, at = committed.committed](transaction_answer& answer) {
        auto& s = self->state.settings;
        if (answer.ok() && answer->succeeded) {
          s.head_revision = answer->current;
          s.what.committed = at;
          enter(self, decision_phase::committed);
          tell_people(self, "Committed", s.what.why.summary);
          apply_all(self);
        } else if (planted == planted_bug::unknown_is_aborted && !answer.ok()) {
          give_up(self, answer.status());
        } else {
          // Not known, or somebody aborted it: writing the abort tells which (DESIGN 4.3).
          write_abort(self, answer.ok() ? absl::AbortedError("a shard took its hold back")
                                        : answer.status());
        }
      },
      [self](caf::error& error) { write_abort(self, to_status(error)); });
}

void apply_all(self_pointer self) {
  auto& state = self->state;
  const auto trace = begin_step(self, "decision.apply");
  const auto& shards = state.settings.shards;
  gathering all([self](absl::Status applied) {
    if (!applied.ok())
      try_again(self, [self] { apply_all(self); });
    else if (self->state.cancelled && !self->state.settings.recovered)
      write_abort(self, absl::CancelledError(self->state.cancel_reason));
    else // who recovers a decision can't know that no victim was told
      actuate_all(self);
  });
  ask_touched(self, all, shards.nodes, state.nodes, [&](const auto& parts) {
    return apply_part<node_part>{id(self), parts, trace};
  });
  ask_touched(self, all, shards.workloads, state.workloads, [&](const auto& parts) {
    return apply_part<workload_part>{id(self), parts, trace};
  });
  all.complete();
}

/// One event for every workload that loses something.
void tell_victims_apart(self_pointer self) {
  auto& settings = self->state.settings;
  for (const auto& one : settings.what.victims)
    self->send(settings.events,
               event{0, settings.clock.now(self), "Workload", one.portion.workload, "Preempted",
                     fmt::format("{} goes: {}", to_string(one.portion), one.reason),
                     settings.what.id, trace_id_of(settings.what.trace)});
}

void actuate_all(self_pointer self) {
  auto& state = self->state;
  if (what(self).victims.empty()) {
    wait_for_room(self);
    return;
  }
  const auto trace = begin_step(self, "decision.actuate");
  state.step.set("victims", what(self).victims.size());
  state.told = true;
  gathering all([self](absl::Status done) {
    if (!done.ok()) {
      try_again(self, [self] { actuate_all(self); });
      return;
    }
    tell_victims_apart(self);
    wait_for_room(self);
  });
  ask_touched(self, all, state.settings.shards.nodes, state.nodes, [&](const auto&) {
    return actuate{id(self), trace};
  });
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
    state.no_room_yet.insert(shard_name(what(self).resource_group, number));
    self->send(state.settings.shards.nodes[number], await_room{id(self), self});
  }
  if (state.no_room_yet.empty())
    write_starting(self);
}

/// From here on the pods start, whatever happens.
void write_starting(self_pointer self) {
  auto& settings = self->state.settings;
  begin_step(self, "decision.start");
  auto starting = settings.what;
  starting.phase = decision_phase::starting;
  const auto key = keys::open_decision(id(self));
  transaction writes{owned_and(settings, settings.head_revision),
                     {put{key, encode(head_of(starting, settings.chunks)), 0}}};
  self->request(settings.store, answer_time, std::move(writes))
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

void start_all(self_pointer self) {
  auto& state = self->state;
  const auto trace = state.step.context();
  gathering all([self](absl::Status started) {
    if (!started.ok()) {
      try_again(self, [self] { start_all(self); });
      return;
    }
    tell_people(self, "Started", fmt::format("{} pods are bound", what(self).assignments.size()));
    write_end(self, absl::OkStatus());
  });
  ask_touched(self, all, state.settings.shards.nodes, state.nodes, [&](const auto&) {
    return start_pods{id(self), trace};
  });
  all.complete();
}

/// The decision is over: its trace ends, and its owner learns how.
void end(self_pointer self, const absl::Status& how) {
  auto& state = self->state;
  if (!how.ok())
    state.whole.fail(std::string(how.message()));
  state.whole.set("outcome", how.ok() ? "done" : "aborted");
  state.step.end();
  state.whole.end();
  self->send(state.settings.owner, decision_ended{id(self), how});
  self->quit();
}

/// Before the commit: everything is let go, and no victim noticed.
void give_up(self_pointer self, absl::Status why) {
  release_all(self);
  auto& settings = self->state.settings;
  if (settings.chunks > 0)
    self
      ->request(settings.store, answer_time,
                transaction{owned(settings), {erase{with_prefix(keys::bodies_of(id(self)))}}})
      .then([](transaction_answer&) {}, [](caf::error&) {});
  tell_people(self, "Aborted", std::string(why.message()));
  end(self, why);
}

/// Reads how far the decision came, and goes on from there.
void read_phase(self_pointer self) {
  const auto again = [self] { try_again(self, [self] { resume_from_store(self); }); };
  self
    ->request(self->state.settings.store, answer_time,
              range_request{just(keys::open_decision(id(self))), 0, 0, false})
    .then(
      [self, again](range_answer& answer) {
        if (!answer.ok()) {
          again();
          return;
        }
        if (answer->values.empty()) {
          // Only the end takes the key away. One that never had a key was kept from writing it.
          if (what(self).phase == decision_phase::preparing)
            give_up(self, absl::AbortedError("the replica has lost its place"));
          else
            end(self, what(self).phase == decision_phase::aborted
                        ? absl::AbortedError(what(self).abort_reason)
                        : absl::OkStatus());
          return;
        }
        const auto head = decode<decision_head>(answer->values.front().value);
        if (!head.ok()) {
          again();
          return;
        }
        self->state.settings.head_revision = answer->values.front().modified;
        what(self).phase = head->summary.phase;
        what(self).abort_reason = head->summary.abort_reason;
        what(self).victims_told = head->summary.victims_told;
        go_on(self);
      },
      [again](caf::error&) { again(); });
}

/// When an answer was lost or a comparison did not hold: either the decision came further than is
/// known here, or its owner has lost its place, and others see to it.
void resume_from_store(self_pointer self) {
  const auto again = [self] { try_again(self, [self] { resume_from_store(self); }); };
  const auto& settings = self->state.settings;
  self->request(settings.store, answer_time, range_request{just(settings.owner_key), 0, 0, false})
    .then(
      [self, again](range_answer& answer) {
        if (!answer.ok())
          again();
        else if (answer->values.empty()
                 || answer->values.front().modified != self->state.settings.epoch)
          self->quit(lost_ownership());
        else
          read_phase(self);
      },
      [again](caf::error&) { again(); });
}

/// Goes on from the phase that the store has.
void go_on(self_pointer self) {
  switch (what(self).phase) {
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

/// Creates the key as aborted, or turns the committed one into it; the first write wins.
void write_abort(self_pointer self, absl::Status why) {
  auto& settings = self->state.settings;
  auto aborted = settings.what;
  aborted.phase = decision_phase::aborted;
  aborted.abort_reason = std::string(why.message());
  aborted.victims_told = self->state.told;
  const auto key = keys::open_decision(id(self));
  transaction writes{owned_and(settings, settings.head_revision),
                     {put{key, encode(head_of(aborted, settings.chunks)), 0}}};
  self->request(settings.store, answer_time, std::move(writes))
    .then(
      [self, aborted, why](transaction_answer& answer) {
        if (!answer.ok()) {
          try_again(self, [self, why] { write_abort(self, why); });
          return;
        }
        if (!answer->succeeded) {
          resume_from_store(self);
          return;
        }
        self->state.settings.head_revision = answer->current;
        self->state.settings.what = aborted;
        withdraw_all(self);
      },
      [self, why](caf::error&) { try_again(self, [self, why] { write_abort(self, why); }); });
}

/// Takes nominations back, and victims that were not told: first in the workloads' records, so that
/// these know whom they have again when node shards tell who ended meanwhile.
void withdraw_all(self_pointer self) {
  auto& state = self->state;
  const auto trace = begin_step(self, "decision.withdraw");
  withdraw order{id(self), {}, {}, trace};
  for (const auto& one : what(self).victims)
    (what(self).victims_told ? order.told : order.reprieved).push_back(one.portion);
  gathering workloads([self, order](absl::Status withdrawn) {
    if (withdrawn.ok())
      withdraw_from_nodes(self, order);
    else
      try_again(self, [self] { withdraw_all(self); });
  });
  ask_touched(self, workloads, state.settings.shards.workloads, state.workloads,
              [&](const auto&) { return order; });
  workloads.complete();
}

void withdraw_from_nodes(self_pointer self, const withdraw& order) {
  auto& state = self->state;
  gathering nodes([self](absl::Status withdrawn) {
    if (withdrawn.ok())
      write_end(self, absl::AbortedError(what(self).abort_reason));
    else
      try_again(self, [self] { withdraw_all(self); });
  });
  ask_touched(self, nodes, state.settings.shards.nodes, state.nodes,
              [&](const auto&) { return order; });
  nodes.complete();
}

/// Moves the decision from the open ones to the finished ones.
void write_end(self_pointer self, absl::Status how) {
  auto& settings = self->state.settings;
  auto ended = settings.what;
  ended.phase = how.ok() ? decision_phase::done : decision_phase::aborted;
  ended.ended = settings.clock.now(self);
  const auto key = keys::open_decision(id(self));
  transaction writes{owned_and(settings, settings.head_revision),
                     {erase{just(key)}, put{keys::done_decision(ended.ended, id(self)),
                                            encode(head_of(ended, settings.chunks)), 0}}};
  self->request(settings.store, answer_time, std::move(writes))
    .then(
      [self, how](transaction_answer& answer) {
        if (!answer.ok() || !answer->succeeded) {
          resume_from_store(self);
          return;
        }
        tell_people(self, how.ok() ? "Done" : "Aborted",
                    how.ok() ? "the decision is carried out" : std::string(how.message()));
        end(self, how);
      },
      [self](caf::error&) { resume_from_store(self); });
}

} // namespace

decision_actor::behavior_type run_decision(self_pointer self, decision_settings settings) {
  auto& state = self->state;
  state.settings = std::move(settings);
  auto& decided = state.settings.what;
  state.whole = start_span_at(decided.decided, "decision", decided.trace);
  state.whole.set("decision", decided.id);
  state.whole.set("resource_group", decided.resource_group);
  state.whole.set("policy", decided.policy);
  state.whole.set("pods", decided.assignments.size());
  state.whole.set("victims", decided.victims.size());
  state.whole.set("recovered", state.settings.recovered);
  decided.trace = state.whole.context();
  split_into_parts(self);
  go_on(self);
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
      // Waiting is the one step that has nothing under way; the others look at the flag.
      if (!s.no_room_yet.empty())
        write_abort(self, absl::CancelledError(wanted.reason));
    },
    [self](retry_step) {
      if (auto again = std::exchange(self->state.again, nullptr))
        again();
    },
  };
}

} // namespace reprieve
