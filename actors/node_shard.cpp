#include "actors/node_shard.hpp"

#include "actors/node_heartbeats.hpp"
#include "actors/node_holds.hpp"
#include "actors/node_stops.hpp"
#include "actors/planted_bug.hpp"
#include "observability/tracing.hpp"
#include "protocol/records.hpp"
#include "state/keys.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace reprieve {

namespace {

using self_pointer = node_shard_pointer;
using record_pointer = record_table<node_record>::pointer;

/// New forms of records by node name; null erases.
using record_changes = std::map<std::string, std::shared_ptr<node_record>, std::less<>>;

/// A copy of the newest form, to be changed; null where there is no such node.
std::shared_ptr<node_record> edit(const node_shard_state& state, std::string_view name) {
  const auto newest = state.records.newest(name);
  return newest ? std::make_shared<node_record>(*newest) : nullptr;
}

void publish(self_pointer self, std::vector<record_pointer> changed,
             std::vector<std::string> removed) {
  auto& state = self->state;
  if (changed.empty() && removed.empty())
    return;
  const node_delta delta{state.shard, ++state.deltas, std::move(changed), std::move(removed),
                         false};
  for (const auto& follower : state.followers)
    self->send(follower, delta);
}

bool room_is_free(const node_shard_state& state, const std::string& decision) {
  const auto touched = state.touched.find(decision);
  return touched == state.touched.end()
         || std::all_of(touched->second.begin(), touched->second.end(), [&](const auto& name) {
              const auto record = state.records.newest(name);
              const auto granted = [&](std::string_view other) {
                return state.granted.contains(other);
              };
              return !record
                     || room_is_free(*record, decision, granted,
                                     held_by_others(state, name, decision, true));
            });
}

/// The decision waits for room no more.
void wait_no_more(node_shard_state& state, const std::string& decision) {
  state.awaiting.erase(decision);
  if (const auto touched = state.touched.find(decision); touched != state.touched.end())
    for (const auto& name : touched->second)
      if (const auto found = state.awaited_on.find(name); found != state.awaited_on.end()) {
        found->second.erase(decision);
        if (found->second.empty())
          state.awaited_on.erase(found);
      }
}

/// Tells a decision that waits for room whether it is there now.
void check_room(self_pointer self, const std::string& decision) {
  auto& state = self->state;
  const auto waiting = state.awaiting.find(decision);
  if (waiting == state.awaiting.end() || !room_is_free(state, decision))
    return;
  state.granted.insert(decision);
  self->send(waiting->second, room_free{decision, state.shard});
  wait_no_more(state, decision);
}

/// Likewise all that wait for room on nodes that have changed, in order.
void check_room_on(self_pointer self, const std::vector<std::string>& nodes) {
  auto& state = self->state;
  std::set<std::string> waiting;
  for (const auto& name : nodes)
    if (const auto found = state.awaited_on.find(name); found != state.awaited_on.end())
      waiting.insert(found->second.begin(), found->second.end());
  for (const auto& decision : waiting)
    check_room(self, decision);
}

/// Makes the changes durable, and with them that a decision is carried out by them, if one is; then
/// visible, then calls `then`.
template <class F>
void commit(self_pointer self, record_changes changes, F then, std::string carries_out = {}) {
  auto& state = self->state;
  std::vector<ledger_entry> writes;
  std::vector<std::string> names;
  for (auto& [name, changed] : changes) {
    const record_pointer next = std::move(changed);
    writes.push_back(write_of(keys::node(state.shard, name), next));
    state.records.stage(name, next);
    names.push_back(name);
  }
  auto show = [self, names = std::move(names), then]() mutable {
    std::vector<record_pointer> changed;
    std::vector<std::string> removed;
    for (const auto& name : names) {
      if (auto record = self->state.records.settle(name)) {
        self->state.view.put(record);
        changed.push_back(std::move(record));
      } else {
        self->state.view.remove(name);
        removed.push_back(name);
      }
    }
    publish(self, std::move(changed), std::move(removed));
    then();
    check_room_on(self, names);
  };
  write_then(self, std::move(writes), std::move(show), std::move(carries_out));
}

/// For those who change records from files of their own.
void write_records(self_pointer self, record_changes changes, std::function<void()> then) {
  commit(self, std::move(changes), std::move(then));
}

/// Like `commit`, for a request that is answered when all is durable and `then` is done.
template <class F>
caf::result<absl::Status> commit_and_answer(self_pointer self, record_changes changes, F then,
                                            std::string carries_out = {}) {
  auto answer = promise_from<absl::Status>(self);
  commit(
    self, std::move(changes),
    [answer, then = std::move(then)]() mutable {
      then();
      answer.deliver(absl::OkStatus());
    },
    std::move(carries_out));
  return answer;
}

caf::result<absl::Status> commit_and_answer(self_pointer self, record_changes changes) {
  return commit_and_answer(self, std::move(changes), [] {});
}

void order_start(self_pointer self, const pod_list::pointer& p) {
  self->send(self->state.cluster, start_order{p, epoch_of(self->state), self});
}

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

/// Binds and starts what a decision places whose room is free. Once: a pod may have come and gone
/// again before a coordinator that begins anew asks for it.
caf::result<absl::Status> place_at_once(self_pointer self,
                                        const apply_parts<node_parts>& committed) {
  auto& state = self->state;
  record_changes changes;
  pod_pointers bound;
  const bool done = state.ledger.carried_out.contains(committed.decision);
  // A decision that was committed before a restart holds nothing here, and others may have come.
  if (!done && !state.holds.held.contains(committed.decision))
    for (const auto& part : committed.parts)
      if (const auto record = state.records.newest(part.node))
        if (auto free = has_room_now(state, *record, part, committed.decision); !free.ok())
          return absl::UnavailableError(free.message());
  if (!done)
    for (const auto& part : committed.parts)
      if (auto next = edit(state, part.node)) {
        std::ranges::move(bind_at_once(*next, part, state.clock.now(self)),
                          std::back_inserter(bound));
        changes[part.node] = std::move(next);
      }
  state.holds.erase(committed.decision);
  return commit_and_answer(self, std::move(changes),
                           order_each(self, std::move(bound), order_start), committed.decision);
}

caf::result<absl::Status> remove(self_pointer self, const remove_nodes& wanted) {
  record_changes changes;
  for (const auto& name : wanted.names) {
    const auto record = self->state.records.newest(name);
    if (!record)
      return absl::NotFoundError(fmt::format("there is no node {}", name));
    if (!record->pods.empty())
      return absl::FailedPreconditionError(
        fmt::format("node {} holds {} pods, {} among them; make it unschedulable and wait until "
                    "they have gone",
                    name, record->pods.size(), record->pods.front().name));
    changes[name] = nullptr;
  }
  for (const auto& name : wanted.names)
    self->state.heard.forget(name);
  return commit_and_answer(self, std::move(changes));
}

caf::result<absl::Status> stop(self_pointer self, const stop_pods& wanted) {
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
  std::erase_if(changes, [&](const auto& entry) {
    return !entry.second || *entry.second == *state.records.newest(entry.first);
  });
  return commit_and_answer(self, std::move(changes), order_each(self, std::move(told), order_stop));
}

/// The end of a pod that its workload has to know.
struct pod_end {
  pod ended;
  slot_state how = slot_state::failed;
};

/// The pods ended by themselves: their records go only when their workloads know the end for good.
void record_ends(self_pointer self, const std::vector<pod_end>& ends) {
  const auto& workloads = self->state.workloads;
  struct of_shard {
    slots_ended told;
    std::vector<victim_pod> pods;
  };
  std::map<std::uint32_t, of_shard> by_shard;
  for (const auto& [ended, how] : ends) {
    auto& [told, pods] =
      by_shard[shard_number(ended.workload, static_cast<std::uint32_t>(workloads.size()))];
    told.ends.push_back(
      {ended.workload, {ended.group, ended.replica, ended.index}, ended.incarnation, how});
    pods.push_back({ended.uid, ended.node});
  }
  for (auto& [number, one] : by_shard)
    self->request(workloads[number], caf::infinite, std::move(one.told))
      .then(
        [self, pods = std::move(one.pods)](absl::Status& recorded) {
          if (!recorded.ok())
            return;
          record_changes changes;
          for (const auto& [uid, node] : pods) {
            auto& record = changes.try_emplace(node, nullptr).first->second;
            if (!record)
              record = edit(self->state, node);
            if (record)
              erase_pod(*record, uid);
          }
          std::erase_if(changes, [&](const auto& entry) {
            return !entry.second || *entry.second == *self->state.records.newest(entry.first);
          });
          if (!changes.empty())
            commit(self, std::move(changes), [] {});
        },
        [](caf::error&) {}); // it is told again when this shard meets the next
}

/// Takes in how a pod of the record fares. Returns its end where its workload has to know it.
std::optional<pod_end> take_in(node_record& record, const pod_report& report) {
  const pod* known = find_pod(record, report.uid);
  if (known == nullptr)
    return std::nullopt;
  auto changed = *known;
  if (report.happened == pod_report::what::running) {
    if (changed.phase == pod_phase::bound) {
      changed.phase = pod_phase::running;
      changed.started = report.at;
      put_pod(record, std::move(changed));
    }
    return std::nullopt;
  }
  auto how =
    report.happened == pod_report::what::succeeded ? slot_state::succeeded : slot_state::failed;
  changed.phase = pod_phase::gone;
  if (changed.evicted_by == not_wanted) {
    how = slot_state::wanted;
  } else if (!changed.evicted_by.empty()) {
    // Its workload learns from the decision that it goes. As long as it was not told, that may be
    // taken back, and then its end counts.
    if (changed.stop_told == no_time)
      put_pod(record, std::move(changed));
    else
      erase_pod(record, report.uid);
    return std::nullopt;
  }
  put_pod(record, changed);
  return pod_end{std::move(changed), how};
}

/// Whether the report tells something new; what was told again after a start does not.
bool is_news(const node_shard_state& state, const pod_report& report) {
  const auto record = state.records.newest(report.node);
  const pod* known = record ? find_pod(*record, report.uid) : nullptr;
  return known != nullptr
         && (report.happened != pod_report::what::running || known->phase == pod_phase::bound);
}

/// Takes in how pods fare; a report about a pod that is not here any more changes nothing.
void take_in(self_pointer self, const pod_reports& reports) {
  record_changes changes;
  std::vector<pod_end> ends;
  for (const auto& report : reports) {
    auto& record = changes[report.node];
    if (!record && !is_news(self->state, report))
      continue;
    if (!record)
      record = edit(self->state, report.node);
    if (record)
      if (auto end = take_in(*record, report))
        ends.push_back(*std::move(end));
  }
  std::erase_if(changes, [&](const auto& one) {
    return !one.second || *one.second == *self->state.records.newest(one.first);
  });
  if (changes.empty() && ends.empty())
    return;
  commit(self, std::move(changes), [self, ends = std::move(ends)] { record_ends(self, ends); });
}

/// Has the cluster report to this shard how pods fare that run, some at a time: there are many, and
/// whoever asks for something meanwhile need not wait for them, nor the cluster take them at once.
void repeat_starts(self_pointer self) {
  constexpr std::size_t pods_at_once = 200;
  constexpr std::chrono::milliseconds pause{100};
  auto& state = self->state;
  for (std::size_t pods = 0; pods < pods_at_once && !state.to_repeat.empty();) {
    const auto record = state.records.durable(state.to_repeat.back());
    state.to_repeat.pop_back();
    if (!record)
      continue;
    pods += record->pods.size();
    for (const auto& shared : record->pods.shared())
      if (const auto& p = shared->what(); p.phase == pod_phase::running && p.stop_told == no_time)
        order_start(self, shared);
  }
  if (!state.to_repeat.empty())
    self->delayed_send(self, pause, repeat_more_orders{});
}

/// After a start: every order that may have been lost is given again; the cluster knows which it
/// has carried out.
void repeat_orders(self_pointer self) {
  auto& state = self->state;
  for (const auto& [name, record] : state.records.durable()) {
    bool runs = false;
    for (const auto& shared : record->pods.shared()) {
      const auto& p = shared->what();
      if (p.stop_told != no_time)
        order_stop(self, shared);
      else if (p.phase == pod_phase::bound || p.phase == pod_phase::gone)
        order_start(self, shared);
      runs = runs || p.phase == pod_phase::running;
    }
    if (runs)
      state.to_repeat.push_back(name);
  }
  repeat_starts(self);
}

/// Has the ends told again that a workload shard has not taken in.
void repeat_ends(self_pointer self) {
  for (const auto& [name, record] : self->state.records.durable())
    for (const auto& shared : record->pods.shared())
      if (const auto& p = shared->what(); p.phase == pod_phase::gone) {
        if (p.stop_told != no_time)
          order_stop(self, shared);
        else
          order_start(self, shared);
      }
}

} // namespace

node_shard_actor::behavior_type node_shard(self_pointer self, node_shard_settings settings) {
  auto& state = self->state;
  state.shard = std::move(settings.shard);
  state.records = record_table<node_record>{std::move(settings.records)};
  for (const auto& [name, record] : state.records.durable())
    state.view.put(record);
  state.view.up_to_date(); // not when the first decision waits for it
  state.holds =
    holds_of<node_parts>(state.shard, settings.ledger, settings.hold_time, settings.clock);
  state.holds.gone = [self](const std::string& decision, const node_parts& parts) {
    forget_holder(self->state, decision, parts);
    std::vector<std::string> nodes;
    for (const auto& part : parts)
      nodes.push_back(part.node);
    check_room_on(self, nodes);
  };
  state.ledger = ledger{std::move(settings.ledger)};
  state.cluster = std::move(settings.cluster);
  state.force_delete_after = settings.force_delete_after;
  state.clock = settings.clock;
  state.events = std::move(settings.events);
  index_decisions(state);
  self->set_down_handler(
    [self](const caf::down_msg& down) { drop_follower(self->state.followers, down); });
  use_heartbeat_timeout(self, settings.heartbeat_timeout, write_records);
  return {
    [self](put_nodes& wanted) -> caf::result<absl::Status> {
      record_changes changes;
      for (auto& spec : wanted.nodes) {
        auto next = edit(self->state, spec.name);
        if (!next)
          next = std::make_shared<node_record>();
        const auto name = spec.name;
        next->spec = std::move(spec);
        changes[name] = std::move(next);
      }
      return commit_and_answer(self, std::move(changes));
    },
    [self](const remove_nodes& wanted) -> caf::result<absl::Status> {
      return remove(self, wanted);
    },
    [self](const stop_pods& wanted) -> caf::result<absl::Status> { return stop(self, wanted); },
    [self](meet_workloads& met) {
      const bool first = self->state.workloads.empty();
      self->state.workloads = std::move(met.shards);
      // After a start, but not before it can pass on what comes of them. Later, those that were
      // asked to take in an end may have gone before they did.
      if (first)
        repeat_orders(self);
      else
        repeat_ends(self);
    },
    [self](repeat_more_orders) { repeat_starts(self); },
    [self](follow_nodes& wanted) {
      auto& s = self->state;
      node_delta everything{s.shard, ++s.deltas, {}, {}, true};
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
    [self](const apply_parts<node_parts>& committed) -> caf::result<absl::Status> {
      auto traced = start_span("node_shard.apply", committed.trace);
      if (committed.at_once)
        return place_at_once(self, committed);
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
      return commit_and_answer(self, std::move(changes),
                               order_each(self, std::move(told), order_stop));
    },
    [self](await_room& asked) {
      auto& s = self->state;
      s.awaiting[asked.decision] = std::move(asked.listener);
      if (const auto touched = s.touched.find(asked.decision); touched != s.touched.end())
        for (const auto& name : touched->second)
          s.awaited_on[name].insert(asked.decision);
      check_room(self, asked.decision);
    },
    [self](const start_pods& starting) -> caf::result<absl::Status> {
      auto traced = start_span("node_shard.start", starting.trace);
      // A decision that was starting before a restart has no grant here, and others may.
      if (!room_is_free(self->state, starting.decision))
        return absl::UnavailableError("its room is not free yet");
      self->state.granted.insert(starting.decision);
      const auto now = self->state.clock.now(self);
      pod_pointers bound;
      auto changes = change_touched(self->state, starting.decision, [&](node_record& record) {
        auto more = bind_nominated(record, starting.decision, now);
        bound.insert(bound.end(), more.begin(), more.end());
      });
      return commit_and_answer(self, std::move(changes),
                               [self, decision = starting.decision,
                                order = order_each(self, std::move(bound), order_start)] {
                                 order();
                                 wait_no_more(self->state, decision);
                                 self->state.touched.erase(decision);
                                 self->state.granted.erase(decision);
                               });
    },
    [self](const withdraw& dropped) -> caf::result<absl::Status> {
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
      // Those who ended by themselves meanwhile and stay after all: their end is told again.
      pod_pointers ended;
      for (const auto& [name, next] : changes)
        std::ranges::copy_if(
          next->pods.shared(), std::back_inserter(ended), [](const pod_list::pointer& p) {
            return p->what().phase == pod_phase::gone && p->what().evicted_by.empty();
          });
      return commit_and_answer(self, std::move(changes),
                               order_each(self, std::move(ended), order_start));
    },
    [self](const pod_reports& reports) { take_in(self, reports); },
    [self](look_at_stops) { commit(self, force_due(self), [] {}); },
    [self](use_group_limits wanted) {
      self->state.force_delete_after = wanted.force_delete_after;
      if (wanted.heartbeat_timeout != self->state.heartbeat_timeout)
        use_heartbeat_timeout(self, wanted.heartbeat_timeout, write_records);
    },
    [self](const heartbeat_request& alive) { return hear(self, alive, write_records); },
    [self](look_at_silence due) { find_silent(self, due, write_records); },
    [self](look_at_holds) { take_back_due_holds(self); },
    [self](const drop_votes& order) { drop_earlier_votes(self, order); },
    [self](count_holds) { return self->state.holds.held.size(); },
    [self](confirm_ownership) { return confirm(self->state.ledger); },
    [self](ledger_flush) { flush_ledger(self); },
    [self](ledger_retry due) { retry_ledger(self, due); },
  };
}

} // namespace reprieve
