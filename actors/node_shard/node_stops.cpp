#include "actors/node_shard/node_stops.hpp"

#include <algorithm>

namespace reprieve {

namespace {

using self_pointer = node_shard_pointer;

/// One timer is enough: the earliest looks at all and sets the next.
void schedule_stop_check(self_pointer self) {
  auto& state = self->state;
  if (state.stopping.empty() || std::exchange(state.looks_at_stops, true))
    return;
  auto first = time_point::max();
  for (const auto& [uid, one] : state.stopping)
    first = std::min(first, one.force_at);
  self->delayed_send(self, std::max(first - state.clock.now(self), duration{0}), look_at_stops{});
}

} // namespace

void order_stop(self_pointer self, const pod_list::pointer& told) {
  auto& state = self->state;
  const auto& p = told->what();
  self->send(state.cluster,
             stop_order{p.uid, p.node, p.evicted_by, p.checkpoint_time, p.grace_period,
                        state.force_delete_after, epoch_of(state), self});
  if (p.phase != pod_phase::terminating)
    return;
  state.stopping[p.uid] = {p.node, p.stop_told + p.checkpoint_time + p.grace_period};
  schedule_stop_check(self);
}

void tell_too_early(self_pointer self, const prepare<node_parts>& asked) {
  for (const auto& part : asked.parts)
    for (const auto& uid : part.victims) {
      auto victim = *find_pod(*self->state.records.newest(part.node), uid);
      victim.evicted_by = asked.decision;
      order_stop(self, std::make_shared<const shared_pod>(std::move(victim)));
    }
}

record_changes force_due(self_pointer self) {
  auto& state = self->state;
  state.looks_at_stops = false;
  const auto now = state.clock.now(self);
  record_changes changes;
  std::erase_if(state.stopping, [&](const auto& one) {
    const auto& [uid, stop] = one;
    if (stop.force_at > now)
      return false;
    auto& record = changes[stop.node];
    if (!record)
      record = edit(state, stop.node);
    const pod* p = record ? find_pod(*record, uid) : nullptr;
    if (p != nullptr && p->phase == pod_phase::terminating) {
      auto forced = *p;
      forced.phase = pod_phase::force_deleting;
      put_pod(*record, std::move(forced));
    }
    return true;
  });
  leave_out_unchanged(state, changes);
  schedule_stop_check(self);
  return changes;
}

void stop_undecided(self_pointer self, const stop_pods& wanted, status_answer answer) {
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

} // namespace reprieve
