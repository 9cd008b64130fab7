#include "actors/workload_shard/workload_evictions.hpp"

#include "actors/interfaces/planted_bug.hpp"
#include "actors/workload_shard/workload_counts.hpp"
#include "actors/workload_shard/workload_holds.hpp"
#include "actors/workload_shard/workload_writes.hpp"
#include "observability/tracing.hpp"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace reprieve {

namespace {

using self_pointer = workload_shard_pointer;

/// The decision's effect on each workload that is still there, done by `each`.
template <class F>
shard_changes change_evicted(const workload_shard_state& state,
                             const std::map<std::string, std::vector<portion_id>>& portions,
                             F each) {
  shard_changes changes;
  for (const auto& [name, evicted] : portions)
    if (auto next = edit(state, name)) {
      each(*next, evicted);
      if (*next != *state.workloads.newest(name))
        changes.workloads[name] = std::move(next);
    }
  return changes;
}

/// Those of the portions that stand as they were when the decision was made. Of others it took what
/// it names before, however often it is carried out.
std::vector<portion_id> still_there(const workload_shard_state& state, const workload_part& part) {
  const auto record = state.workloads.newest(part.workload);
  auto portions = part.evicted;
  const std::set<std::string, std::less<>> pods{part.evicted_pods.begin(), part.evicted_pods.end()};
  if (record && !pods.empty() && !is_planted(planted_bug::any_incarnation))
    std::erase_if(portions,
                  [&](const portion_id& one) { return !takes_any_of(*record, one, pods); });
  return portions;
}

void lose_replicas(self_pointer self, const apply_parts<workload_parts>& committed,
                   shard_changes& changes) {
  for (const auto& part : committed.parts.workloads) {
    if (!part.loses_replicas)
      continue;
    auto& next = changes.workloads.try_emplace(part.workload, nullptr).first->second;
    if (!next)
      next = edit(self->state, part.workload);
    if (next)
      lose_replicas(*next, committed.decision, self->state.clock.now(self));
    if (!next || *next == *self->state.workloads.newest(part.workload))
      changes.workloads.erase(part.workload);
  }
}

} // namespace

void carry_out(self_pointer self, const apply_parts<workload_parts>& committed,
               status_answer answer) {
  auto traced = start_span("workload_shard.apply", committed.trace);
  if (!committed.parts.budgets.empty())
    self->state.evicting[committed.decision] = committed.parts.budgets;
  std::map<std::string, std::vector<portion_id>> evicted;
  for (const auto& part : committed.parts.workloads)
    if (auto portions = still_there(self->state, part); !portions.empty())
      evicted[part.workload] = std::move(portions);
  const auto now = self->state.clock.now(self);
  auto changes =
    change_evicted(self->state, evicted, [&](workload_record& record, const auto& portions) {
      evict(record, portions, committed.decision, now);
    });
  lose_replicas(self, committed, changes);
  // Somebody may have set other counts since they were set for this decision.
  const bool counts = !committed.parts.counts.empty();
  if (counts && !self->state.ledger.carried_out.contains(committed.decision))
    change_counts(self->state, committed.parts.counts, changes);
  // Something has to be written where an abort may be on its way, to keep it out.
  const auto held = self->state.holds.held.find(committed.decision);
  const bool writes = counts || (held != self->state.holds.held.end() && held->second.is_aborting);
  write_changes(self, std::move(changes), std::move(answer),
                writes ? committed.decision : std::string{});
  self->state.holds.erase(committed.decision);
}

void take_back_effects(self_pointer self, const withdraw& dropped, const status_answer& answer) {
  auto traced = start_span("workload_shard.withdraw", dropped.trace);
  self->state.evicting.erase(dropped.decision);
  self->state.holds.aborted_here.erase(dropped.decision);
  self->state.holds.erase(dropped.decision);
  std::map<std::string, std::vector<portion_id>> reprieved;
  std::vector<std::string> workloads;
  for (const auto& portion : dropped.reprieved) {
    auto& portions = reprieved[portion.workload];
    if (portions.empty())
      workloads.push_back(portion.workload);
    portions.push_back(portion);
  }
  // Somebody may be about to place pods instead of those who stay after all.
  change_unlent(self, std::move(workloads),
                [self, answer, decision = dropped.decision, reprieved = std::move(reprieved)] {
                  write_changes(self,
                                change_evicted(self->state, reprieved,
                                               [&](workload_record& record, const auto& portions) {
                                                 reprieve_portions(record, portions, decision);
                                               }),
                                answer);
                });
}

} // namespace reprieve
