#include "actors/workload_shard/workload_ends.hpp"

#include "actors/workload_shard/workload_writes.hpp"
#include "state/records/pod_losses.hpp"

#include <map>
#include <string>
#include <vector>

namespace reprieve {

namespace {

using self_pointer = workload_shard_pointer;

/// Records that these pods were lost, and remembers with which nodes.
void lose(workload_record& record, const std::vector<lost_pod>& pods, time_point now) {
  note_losses(record, pods, now);
  std::vector<std::pair<pod_slot, std::uint32_t>> slots;
  for (const auto& one : pods)
    slots.emplace_back(one.slot, one.incarnation);
  lose_slots(record, slots, now);
}

} // namespace

void end_slots(self_pointer self, const slots_ended& ended, status_answer answer) {
  shard_changes changes;
  std::map<std::string, std::vector<lost_pod>> lost;
  for (const auto& one : ended.ends) {
    auto& next = changes.workloads.try_emplace(one.workload, nullptr).first->second;
    if (!next)
      next = edit(self->state, one.workload);
    if (next && one.lost)
      lost[one.workload].push_back({one.slot, one.incarnation, one.node, one.forgotten});
    else if (next)
      end_slot(*next, one.slot, one.incarnation, one.how);
  }
  for (const auto& [name, pods] : lost)
    lose(*changes.workloads[name], pods, self->state.clock.now(self));
  std::erase_if(changes.workloads, [&](const auto& entry) {
    return !entry.second || *entry.second == *self->state.workloads.newest(entry.first);
  });
  write_changes(self, std::move(changes), std::move(answer));
}

void forget_deleted(self_pointer self, const forget_workloads& ended, status_answer answer) {
  shard_changes changes;
  for (const auto& name : ended.names)
    if (const auto record = self->state.workloads.newest(name); record && record->deleting)
      changes.workloads[name] = nullptr;
  write_changes(self, std::move(changes), std::move(answer));
}

} // namespace reprieve
