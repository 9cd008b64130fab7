#include "actors/node_shard/node_shard.hpp"

#include "actors/interfaces/planted_bug.hpp"
#include "actors/node_shard/lost_nodes.hpp"
#include "actors/node_shard/node_heartbeats.hpp"
#include "actors/node_shard/node_holds.hpp"
#include "actors/node_shard/node_removal.hpp"
#include "actors/node_shard/node_reports.hpp"
#include "actors/node_shard/node_stops.hpp"
#include "actors/node_shard/node_watch.hpp"
#include "actors/node_shard/node_writes.hpp"
#include "observability/tracing.hpp"
#include "protocol/records/records.hpp"
#include "state/records/keys.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace reprieve {

namespace {

using self_pointer = node_shard_pointer;

/// The rest of a change that orders something for each of these pods once it is durable.
auto order_each(self_pointer self, pod_pointers pods,
                void (*order)(self_pointer, const pod_list::pointer&)) {
  return [self, pods = std::move(pods), order] {
    for (const auto& p : pods)
      order(self, p);
  };
}

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
  if (!bound.empty() && planted != planted_bug::tears_gangs && !fits_one_batch(state, changes)) {
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

void stop(self_pointer self, const stop_pods& wanted, status_answer answer) {
  auto& state = self->state;
  record_changes changes;
  pod_pointers told;
  for (const auto& one : wanted.pods) {
    auto& record = changes[one.node];
    if (!record)
      record = edit(state, one.node);
    if (!record)
      continue;
    const pod* known = find_pod(*record, one.uid);
    // What is only nominated goes with its decision, which is given up as a whole; what has ended
    // is there until its workload knows.
    if (known == nullptr || known->stop_told != no_time || known->phase == pod_phase::nominated
        || known->phase == pod_phase::gone)
      continue;
    auto stopping = *known;
    stopping.phase = pod_phase::terminating;
    stopping.stop_told = state.clock.now(self);
    if (stopping.evicted_by.empty())
      stopping.evicted_by = wanted.reason;
    record->pods.put(told.emplace_back(std::make_shared<const shared_pod>(std::move(stopping))));
  }
  leave_out_unchanged(state, changes);
  write_and_answer(self, std::move(changes), std::move(answer),
                   order_each(self, std::move(told), order_stop));
}

/// A node of that name was deleted by force, and what was left on it goes first.
void tell_that_it_is_cleaned(self_pointer self, const std::string& node, std::size_t left) {
  self->send(self->state.events,
             event{0,
                   self->state.clock.now(self),
                   "Node",
                   node,
                   "Stopping",
                   fmt::format("{} that {} given up with an earlier node of that name {} stopped "
                               "before anything comes",
                               left == 1 ? "a pod" : fmt::format("{} pods", left),
                               left == 1 ? "was" : "were", left == 1 ? "is" : "are"),
                   {},
                   {}});
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

/// One that was deleted by force and is there again has to be rid of what was left on it.
void put_all(self_pointer self, const put_nodes& wanted, status_answer answer,
             std::string lent_for = {}) {
  auto& state = self->state;
  if (is_closed(self) && !wanted.nodes.empty()) {
    answer(used_goes({object_kind::node, wanted.nodes.front().name},
                     {object_kind::resource_group, group_of_shard(state.shard)}));
    return;
  }
  for (const auto& spec : wanted.nodes)
    if (const auto* aside = state.aside.find(object_kind::node, spec.name)) {
      refuse(self, cannot_be_made(*aside), std::move(answer));
      return;
    }
  for (std::size_t i = 0; i < wanted.nodes.size(); ++i) {
    const auto known = state.records.newest(wanted.nodes[i].name);
    if (!is_as_told(wanted.told, i, known ? &*known->spec : nullptr, wanted.nodes[i])) {
      refuse(self, came_in_between(), std::move(answer));
      return;
    }
  }
  record_changes changes;
  std::vector<ledger_entry> beside;
  by_name<left_pods> back;
  for (const auto& spec : wanted.nodes) {
    auto next = edit(state, spec.name);
    if (next && *next->spec == spec)
      continue;
    if (!next)
      next = std::make_shared<node_record>();
    const auto name = spec.name;
    next->spec = spec;
    if (const auto left = state.left_behind.find(name); left != state.left_behind.end()) {
      next->status.left_behind = left->second.uids;
      back.insert(state.left_behind.extract(left));
      beside.push_back({keys::left_behind(state.shard, name), {}, false});
    }
    changes[name] = std::move(next);
  }
  write_records(
    self, std::move(changes),
    [self, answer, back] {
      watch_own_nodes(self);
      for (const auto& [name, left] : back) {
        stop_left_behind(self, name);
        tell_that_it_is_cleaned(self, name, left.uids.size());
      }
      answer(absl::OkStatus());
    },
    {{}, std::move(lent_for)},
    [self, answer, back](const absl::Status& why) {
      self->state.left_behind.insert(back.begin(), back.end());
      answer(why);
    },
    std::move(beside));
}

/// Nominates or binds what the decision places, and tells its victims.
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

/// Binds and starts what the decision has nominated.
void start(self_pointer self, const start_pods& starting, const status_answer& answer) {
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

/// Takes back what the decision did, but for victims that were told.
void take_back(self_pointer self, const withdraw& dropped, const status_answer& answer) {
  auto traced = start_span("node_shard.withdraw", dropped.trace);
  self->state.holds.erase(dropped.decision);
  self->state.holds.aborted_here.erase(dropped.decision);
  wait_no_more(self->state, dropped.decision);
  self->state.granted.erase(dropped.decision);
  auto changes = change_touched(self->state, dropped.decision, [&](node_record& record) {
    release(record, dropped.decision, dropped.told);
    if (planted == planted_bug::releases_told)
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

void use_limits(self_pointer self, const use_group_limits& wanted) {
  auto& state = self->state;
  state.force_delete_after = wanted.force_delete_after;
  if (std::exchange(state.own_scheduler, wanted.own_scheduler) != wanted.own_scheduler)
    watch_own_nodes(self);
  if (wanted.heartbeat_timeout != state.heartbeat_timeout)
    use_heartbeat_timeout(self, wanted.heartbeat_timeout);
  if (std::exchange(state.lost_node_timeout, wanted.lost_node_timeout)
      != wanted.lost_node_timeout) {
    state.next_look_at_lost = no_time;
    look_at_lost_nodes(self);
  }
}

} // namespace

node_shard_actor::behavior_type node_shard(self_pointer self, node_shard_settings settings) {
  auto& state = self->state;
  state.shard = std::move(settings.shard);
  state.records = record_table<node_record>{std::move(settings.records)};
  state.aside = std::move(settings.aside);
  for (const auto& [name, record] : state.records.durable())
    state.view.put(record);
  state.view.up_to_date(); // not when the first decision waits for it
  state.holds =
    holds_of<node_parts>(state.shard, settings.ledger, settings.hold_time, settings.clock);
  state.holds.gone = [self](const std::string&, const node_parts& parts) {
    check_room_on(self, nodes_of(parts));
    continue_changes(self);
  };
  state.ledger = ledger{std::move(settings.ledger)};
  state.cluster = std::move(settings.cluster);
  state.force_delete_after = settings.force_delete_after;
  state.clock = settings.clock;
  state.events = std::move(settings.events);
  index_decisions(state);
  self->set_down_handler(
    [self](const caf::down_msg& down) { drop_follower(self->state.followers, down); });
  state.left_behind = std::move(settings.left_behind);
  state.lost_node_timeout = settings.lost_node_timeout;
  for (const auto& [name, record] : state.records.durable())
    if (record->status.lost || record->status.pods_lost)
      state.away.insert(name);
  use_heartbeat_timeout(self, settings.heartbeat_timeout);
  look_at_lost_nodes(self);
  return {
    [self](put_nodes& wanted) -> caf::result<absl::Status> {
      return answer_when_nothing_is_lent(
        self, [self, wanted = std::move(wanted)](auto answer) { put_all(self, wanted, answer); });
    },
    [self](const remove_nodes& wanted) -> caf::result<absl::Status> {
      return answer_when_nothing_is_lent(
        self, [self, wanted](auto answer) { remove(self, wanted, std::move(answer)); });
    },
    [self](lend<put_nodes>& wanted) -> caf::result<lent_result> {
      return lend_for(self, wanted, [self, wanted](status_answer answer) {
        put_all(self, wanted.change, std::move(answer), wanted.bundle);
      });
    },
    [self](const lend<remove_nodes>& wanted) -> caf::result<lent_result> {
      return lend_for(self, wanted, [self, wanted](status_answer answer) {
        remove(self, wanted.change, std::move(answer), wanted.bundle);
      });
    },
    [self](const lend<close_shard>& wanted) -> caf::result<lent_result> {
      return close_for(self, wanted, [self] {
        std::optional<object_reference> some;
        if (auto name = self->state.records.any(); !name.empty())
          some = {object_kind::node, std::move(name)};
        else if (!self->state.aside.empty())
          some = {object_kind::node, self->state.aside.begin()->second.name};
        return some;
      });
    },
    [self](const lent_end& end) -> caf::result<absl::Status> { return end_lent(self, end); },
    [self](stop_pods& wanted) {
      return answer_when_nothing_is_lent(
        self, [self, wanted = std::move(wanted)](auto answer) { stop(self, wanted, answer); });
    },
    [self](meet_workloads& met) {
      const bool first = self->state.workloads.empty();
      self->state.workloads = std::move(met.shards);
      // After a start, but not before it can pass on what comes of them. Later, those that were
      // asked to take in an end may have gone before they did.
      if (first)
        repeat_orders(self);
      else
        repeat_ends(self);
      look_at_lost_nodes(self);
    },
    [self](repeat_more_orders) { ask_about_some(self); },
    [self](follow_nodes& wanted) {
      auto& s = self->state;
      node_delta everything{s.shard, ++s.deltas, {}, {}, true};
      everything.aside = s.aside.all();
      for (const auto& [name, record] : s.records.durable())
        everything.changed.push_back(record);
      self->send(wanted.follower, std::move(everything));
      add_follower(self, s.followers, std::move(wanted.follower));
    },
    [self](const portion_facts& facts) { self->state.view.know(facts); },
    [self](const evaluate_nodes& wanted) {
      auto traced = start_span("node_shard.evaluate", wanted.trace);
      auto answer = evaluate(self->state.view.up_to_date(), *wanted.asked);
      traced.set("nodes", answer.nodes);
      return answer;
    },
    [self](const prepare<node_parts>& asked) -> caf::result<absl::Status> {
      auto traced = start_span("node_shard.prepare", asked.trace);
      auto voted = vote(self, asked);
      traced.set("vote", voted.ok() ? "yes" : std::string(voted.message()));
      if (voted.ok() && planted == planted_bug::tells_at_prepare)
        tell_too_early(self, asked);
      return voted;
    },
    [self](const release_hold& dropped) { release(self, dropped.decision); },
    [self](apply_parts<node_parts>& committed) {
      return answer_when_nothing_is_lent(self,
                                         [self, committed = std::move(committed)](auto answer) {
                                           carry_out(self, committed, answer);
                                         });
    },
    [self](await_room& asked) {
      auto& s = self->state;
      s.awaiting[asked.decision] = asked;
      if (const auto touched = s.touched.find(asked.decision); touched != s.touched.end())
        for (const auto& name : touched->second)
          s.awaited_on[name].insert(asked.decision);
      check_room(self, asked.decision);
    },
    [self](start_pods& starting) {
      return answer_when_nothing_is_lent(self, [self, starting = std::move(starting)](auto answer) {
        start(self, starting, answer);
      });
    },
    [self](withdraw& dropped) {
      return answer_when_nothing_is_lent(self, [self, dropped = std::move(dropped)](auto answer) {
        take_back(self, dropped, answer);
      });
    },
    [self](pod_reports& reports) {
      when_nothing_is_lent(
        self, [self, reports = std::move(reports)] { receive_reports(self, reports); });
    },
    [self](look_at_stops) {
      when_nothing_is_lent(self, [self] { write_records(self, force_due(self)); });
    },
    [self](const use_group_limits& wanted) {
      when_nothing_is_lent(self, [self, wanted] { use_limits(self, wanted); });
    },
    [self](const heartbeat_request& alive) { return hear(self, alive); },
    [self](look_at_silence due) { find_silent(self, due); },
    [self](look_at_lost due) { look_at_lost_nodes(self, due); },
    [self](look_at_holds) { take_back_due_holds(self); },
    [self](const drop_votes& order) { drop_earlier_votes(self, order); },
    [self](count_holds) { return self->state.holds.held.size(); },
    [self](confirm_ownership) { return confirm_shard(self); },
    [self](ledger_flush) { flush_ledger(self); },
    [self](ledger_retry due) { retry_ledger(self, due); },
  };
}

} // namespace reprieve
