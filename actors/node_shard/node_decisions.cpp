#include "actors/node_shard/node_decisions.hpp"

#include "actors/interfaces/planted_bug.hpp"
#include "actors/node_shard/node_holds.hpp"
#include "actors/node_shard/node_reports.hpp"
#include "actors/node_shard/node_stops.hpp"
#include "actors/node_shard/node_watch.hpp"
#include "observability/tracing.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace reprieve {

namespace {

using self_pointer = node_shard_pointer;

/// The records that the decision touches, with `each` done to them; unchanged ones left out.
template <class Change>
record_changes change_touched(const node_shard_state& state, std::string_view decision,
                              Change each) {
  record_changes changes;
  const auto touched = state.touched.find(decision);
  if (touched == state.touched.end())
    return changes;
  for (const auto& name : touched->second) {
    auto next = edit(state, name);
    if (!next)
      continue;
    each(*next);
    if (*next != *state.records.newest(name))
      changes[name] = std::move(next);
  }
  return changes;
}

/// The mark that all of the decision's pods have their places on the shard's nodes, from when on
/// they may start one after the other.
std::string intent_of(const std::string& decision) {
  return decision + intent_mark;
}

/// Binds and starts what the decision has been given places for, and then knows that it has.
void start_intended(self_pointer self, const std::string& decision, const node_parts& parts,
                    const status_answer& answer) {
  auto& state = self->state;
  record_changes changes;
  pod_pointers bound;
  for (const auto& part : parts)
    if (auto next = edit(state, part.node)) {
      std::ranges::move(bind_nominated(*next, decision, state.clock.now(self)),
                        std::back_inserter(bound));
      changes[part.node] = std::move(next);
    }
  leave_out_unchanged(state, changes);
  write_records(
    self, std::move(changes),
    [self, decision, answer, start = order_each(self, std::move(bound), order_start)]() mutable {
      start();
      self->state.touched.erase(decision);
      answer(absl::OkStatus());
    },
    decision);
}

/// What one transaction does not take is given its places first, all of it, before any of it
/// starts: a pod that has come and gone again can be told from one that never came.
void intend(self_pointer self, const apply_parts<node_parts>& committed,
            const status_answer& answer) {
  auto& state = self->state;
  record_changes changes;
  auto& touched = state.touched[committed.decision];
  for (const auto& part : committed.parts) {
    touched.insert(part.node);
    if (auto next = edit(state, part.node)) {
      apply(*next, part, committed.decision);
      changes[part.node] = std::move(next);
    }
  }
  leave_out_unchanged(state, changes);
  write_records(
    self, std::move(changes),
    [self, decision = committed.decision, parts = committed.parts, answer] {
      when_nothing_is_lent(
        self, [self, decision, parts, answer] { start_intended(self, decision, parts, answer); });
    },
    intent_of(committed.decision));
}

/// Binds and starts what a decision places whose room is free. Once: a pod may have come and gone
/// again before a coordinator that begins anew asks for it.
void place_at_once(self_pointer self, const apply_parts<node_parts>& committed,
                   const status_answer& answer) {
  auto& state = self->state;
  const auto& carried_out = state.ledger.carried_out;
  const bool done = carried_out.contains(committed.decision);
  const bool intended = carried_out.contains(intent_of(committed.decision));
  // A decision that was committed before a restart holds nothing here, and others may have come.
  if (!done && !intended && !state.holds.held.contains(committed.decision))
    for (const auto& part : committed.parts)
      if (const auto record = state.records.newest(part.node))
        if (auto free = has_room_now(state, *record, part, committed.decision); !free.ok()) {
          answer(absl::UnavailableError(free.message()));
          return;
        }
  if (done || intended) {
    if (done)
      write_records(self, {}, [answer] { answer(absl::OkStatus()); });
    else
      start_intended(self, committed.decision, committed.parts, answer);
    return;
  }
  record_changes changes;
  pod_pointers bound;
  pod_pointers forced;
  for (const auto& part : committed.parts)
    if (auto next = edit(state, part.node)) {
      std::ranges::move(bind_at_once(*next, part, state.clock.now(self)),
                        std::back_inserter(bound));
      std::ranges::move(force_delete(*next, part.forced, committed.decision, state.clock.now(self)),
                        std::back_inserter(forced));
      changes[part.node] = std::move(next);
    }
  if (!bound.empty() && !is_planted(planted_bug::tears_gangs) && !fits_one_batch(state, changes)) {
    intend(self, committed, answer);
    state.holds.erase(committed.decision);
    return;
  }
  state.holds.erase(committed.decision);
  write_records(
    self, std::move(changes),
    [answer, start = order_each(self, std::move(bound), order_start),
     remove = order_each(self, std::move(forced), order_delete)]() mutable {
      start();
      remove();
      answer(absl::OkStatus());
    },
    committed.decision);
}

/// What people are told of victims that hear now of a decision that was committed before its
/// coordinator began anew; one event for each workload.
std::vector<event> preempted_late(self_pointer self, const pod_pointers& told,
                                  const apply_parts<node_parts>& committed) {
  std::map<std::string, std::size_t> by_workload;
  for (const auto& p : told)
    ++by_workload[p->what().workload];
  std::vector<event> events;
  for (const auto& [workload, pods] : by_workload)
    events.push_back(
      {0, self->state.clock.now(self), "Workload", workload, "Preempted",
       fmt::format("{} by a decision that was made before a restart",
                   pods == 1 ? std::string("a pod goes") : fmt::format("{} pods go", pods)),
       committed.decision, trace_id_of(committed.trace)});
  return events;
}

} // namespace

void carry_out(self_pointer self, const apply_parts<node_parts>& committed,
               const status_answer& answer) {
  auto traced = start_span("node_shard.apply", committed.trace);
  if (committed.at_once) {
    place_at_once(self, committed, answer);
    return;
  }
  // Its nodes may have gone before the shard began anew; nobody comes half then.
  for (const auto& part : committed.parts)
    if (!part.placed.empty() && !self->state.records.newest(part.node)) {
      answer(absl::FailedPreconditionError(fmt::format("node {} is gone", part.node)));
      return;
    }
  const auto now = self->state.clock.now(self);
  record_changes changes;
  pod_pointers told;
  auto& touched = self->state.touched[committed.decision];
  for (const auto& part : committed.parts) {
    touched.insert(part.node);
    if (auto next = edit(self->state, part.node)) {
      apply(*next, part, committed.decision);
      std::ranges::move(tell_victims(*next, committed.decision, now), std::back_inserter(told));
      if (*next != *self->state.records.newest(part.node))
        changes[part.node] = std::move(next);
    }
  }
  self->state.holds.erase(committed.decision);
  auto events = committed.recovered ? preempted_late(self, told, committed) : std::vector<event>{};
  write_and_answer(self, std::move(changes), answer,
                   [self, stop = order_each(self, std::move(told), order_stop),
                    events = std::move(events)]() mutable {
                     stop();
                     for (auto& one : events)
                       self->send(self->state.events, std::move(one));
                   });
}

void start_nominated(self_pointer self, const start_pods& starting, const status_answer& answer) {
  auto traced = start_span("node_shard.start", starting.trace);
  // A decision that was starting before a restart has no grant here, and others may.
  if (!room_is_free(self->state, starting.decision)) {
    answer(absl::UnavailableError("its room is not free yet"));
    return;
  }
  self->state.granted.insert(starting.decision);
  const auto now = self->state.clock.now(self);
  pod_pointers bound;
  auto changes = change_touched(self->state, starting.decision, [&](node_record& record) {
    auto more = bind_nominated(record, starting.decision, now);
    bound.insert(bound.end(), more.begin(), more.end());
  });
  write_and_answer(
    self, std::move(changes), answer,
    [self, decision = starting.decision, order = order_each(self, std::move(bound), order_start)] {
      order();
      wait_no_more(self->state, decision);
      self->state.touched.erase(decision);
      self->state.granted.erase(decision);
    });
}

void take_back_effects(self_pointer self, const withdraw& dropped, const status_answer& answer) {
  auto traced = start_span("node_shard.withdraw", dropped.trace);
  self->state.holds.erase(dropped.decision);
  self->state.holds.aborted_here.erase(dropped.decision);
  wait_no_more(self->state, dropped.decision);
  self->state.granted.erase(dropped.decision);
  auto changes = change_touched(self->state, dropped.decision, [&](node_record& record) {
    release(record, dropped.decision, dropped.told);
    if (is_planted(planted_bug::releases_told))
      record.pods.change_if([&](const pod& p) { return p.evicted_by == dropped.decision; },
                            [](pod& p) {
                              p.evicted_by.clear();
                              p.stop_told = no_time;
                              p.phase = pod_phase::running;
                            });
  });
  self->state.touched.erase(dropped.decision);
  // Those who ended by themselves meanwhile and stay after all: how is asked again.
  pod_pointers ended;
  for (const auto& [name, next] : changes)
    std::ranges::copy_if(
      next->pods.shared(), std::back_inserter(ended), [](const pod_list::pointer& p) {
        return p->what().phase == pod_phase::gone && p->what().evicted_by.empty();
      });
  write_and_answer(self, std::move(changes), answer, order_each(self, std::move(ended), ask_about));
}

} // namespace reprieve
