#include "actors/node_shard/node_heartbeats.hpp"

#include "actors/node_shard/lost_nodes.hpp"
#include "actors/node_shard/node_reports.hpp"
#include "actors/node_shard/node_watch.hpp"
#include "actors/node_shard/node_writes.hpp"
#include "state/quantities/quantity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

namespace reprieve {

namespace {

using self_pointer = node_shard_pointer;

/// What becomes of some nodes' records, and what people are told of it.
struct status_changes {
  record_changes records;
  std::vector<event> told;

  /// Gives the node this status; false where it has it, or is not there.
  bool set(const node_shard_state& state, const std::string& name, node_status next) {
    auto changed = edit(state, name);
    if (!changed)
      return false;
    next.most_pods = changed->status.most_pods;
    if (changed->status == next)
      return false;
    changed->status = next;
    return records.insert_or_assign(name, std::move(changed)).second;
  }

  void tell(const std::string& node, time_point at, std::string type, std::string message) {
    told.push_back(event{0, at, "Node", node, std::move(type), std::move(message), {}, {}});
  }
};

/// Orders what waits for the machine, where it is there. One that was lost may have forgotten what
/// it ran.
void give_orders(self_pointer self, const std::string& name, bool was_lost) {
  const auto record = self->state.records.newest(name);
  if (!record || record->status.lost)
    return;
  if (was_lost) {
    repeat_orders(self, name);
    return;
  }
  stop_left_behind(self, name);
  start_bound(self, name);
}

/// Writes them down and then tells people; a store is not bothered for nothing.
void carry_out(self_pointer self, status_changes changes, std::function<void()> then) {
  if (changes.records.empty()) {
    then();
    return;
  }
  std::vector<std::string> names;
  std::set<std::string> were_lost;
  for (const auto& [name, record] : changes.records) {
    names.push_back(name);
    if (self->state.records.newest(name)->status.lost)
      were_lost.insert(name);
    if (record->status.lost)
      self->state.away.insert(name);
  }
  write_records(self, std::move(changes.records),
                [self, names = std::move(names), were_lost = std::move(were_lost),
                 told = std::move(changes.told), then = std::move(then)] {
                  watch_own_nodes(self); // nothing is to be placed on a lost one
                  for (const auto& one : told)
                    self->send(self->state.events, one);
                  for (const auto& name : names)
                    give_orders(self, name, were_lost.contains(name));
                  look_at_lost_nodes(self);
                  then();
                });
}

/// One timer is enough: it is for whoever has been silent longest, and sets the next.
void schedule_silence_check(self_pointer self) {
  auto& state = self->state;
  if (state.heartbeat_timeout == duration{0} || state.heard.empty() || state.next_look != no_time)
    return;
  state.next_look = state.heard.longest_silent_since() + state.heartbeat_timeout;
  self->delayed_send(self, std::max(state.next_look - state.clock.now(self), duration{0}),
                     look_at_silence{state.next_look});
}

/// The status of a node that is not silent any more, or not watched.
node_status heard_again(node_status from, bool watched) {
  from.watched = watched;
  from.lost = false;
  from.lost_since = no_time;
  from.pods_lost = false;
  return from;
}

std::string what_goes_first(const node_status& of) {
  const auto left = of.left_behind.size();
  return left == 0 ? std::string{}
                   : fmt::format("; {} that {} given up there {} stopped before anything comes",
                                 left == 1 ? "a pod" : fmt::format("{} pods", left),
                                 left == 1 ? "was" : "were", left == 1 ? "is" : "are");
}

/// One heartbeat that is not like the one before.
void record_heartbeat(self_pointer self, const std::string& name, bool last, time_point now,
                      status_changes& changes) {
  const auto& state = self->state;
  const auto record = state.records.newest(name);
  if (!record) // it has gone meanwhile
    return;
  const auto before = record->status;
  if (changes.set(state, name, heard_again(before, !last)) && before.lost)
    changes.tell(name, now, "NodeBack",
                 (last ? "its agent has ended; it is not watched any more" : "heard from again")
                   + what_goes_first(before));
}

/// These nodes were not heard from for too long.
void lose(self_pointer self, const std::vector<std::string>& silent, time_point now) {
  const auto& state = self->state;
  status_changes changes;
  for (const auto& name : silent) {
    const auto record = state.records.newest(name);
    if (!record)
      continue;
    auto next = record->status;
    next.watched = true;
    next.lost = true;
    next.lost_since = now;
    if (changes.set(state, name, std::move(next)))
      changes.tell(name, now, "NodeLost",
                   fmt::format("not heard from for {}; no pods go there until it is heard again",
                               format_duration(state.heartbeat_timeout)));
  }
  carry_out(self, std::move(changes), [] {});
}

} // namespace

caf::result<heartbeat_result> hear(self_pointer self, const heartbeat_request& alive) {
  auto& state = self->state;
  const auto now = state.clock.now(self);
  std::vector<std::string> unknown;
  std::vector<std::string> others;
  for (const auto& name : alive.nodes) {
    if (!alive.last && state.heard.heard(name, now) && !state.away.contains(name))
      continue;
    if (!state.records.newest(name))
      unknown.push_back(name);
    else if (alive.last || state.heartbeat_timeout > duration{0})
      others.push_back(name);
  }
  for (const auto& name : others)
    if (alive.last)
      state.heard.forget(name);
    else
      state.heard.watch(name, now);
  schedule_silence_check(self);
  if (others.empty())
    return heartbeat_result(std::move(unknown));
  auto answer = promise_from<heartbeat_result>(self);
  when_nothing_is_lent(self, [self, answer, unknown, others, last = alive.last, now] {
    status_changes changes;
    for (const auto& name : others)
      record_heartbeat(self, name, last, now, changes);
    carry_out(self, std::move(changes),
              [answer, unknown]() { answer.deliver(heartbeat_result(unknown)); });
  });
  return answer;
}

void find_silent(self_pointer self, const look_at_silence& due) {
  auto& state = self->state;
  if (due.at != state.next_look)
    return; // the timeout is another by now
  state.next_look = no_time;
  const auto now = state.clock.now(self);
  // Whoever looks much later than he meant to was away himself, and heard nobody meanwhile.
  if (now - due.at > state.heartbeat_timeout / 10)
    state.heard.count_from(now);
  auto silent = state.heard.take_silent_since(now - state.heartbeat_timeout);
  schedule_silence_check(self);
  when_nothing_is_lent(self, [self, now, silent = std::move(silent)] { lose(self, silent, now); });
}
void use_heartbeat_timeout(self_pointer self, duration timeout) {
  auto& state = self->state;
  state.heartbeat_timeout = timeout;
  state.next_look = no_time;
  const auto now = state.clock.now(self);
  status_changes changes;
  if (timeout == duration{0})
    state.heard.clear();
  const bool begins = timeout > duration{0} && state.heard.empty();
  for (const auto& [name, durable] : state.records.durable()) {
    const auto record = state.records.newest(name);
    if (begins && record && record->status.watched && !record->status.lost)
      state.heard.watch(name, now);
    if (timeout == duration{0} && record && record->status.lost
        && changes.set(state, name, heard_again(record->status, true)))
      changes.tell(name, now, "NodeBack", "its resource group does not watch nodes any more");
  }
  schedule_silence_check(self);
  carry_out(self, std::move(changes), [] {});
}

} // namespace reprieve
