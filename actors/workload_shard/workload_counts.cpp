#include "actors/workload_shard/workload_counts.hpp"

#include "actors/interfaces/placement_changes.hpp"

namespace reprieve {

namespace {

void put_changed(const workload_shard_state& state, placement next, shard_changes& changes) {
  const auto known = state.placements.newest(next.name);
  if (known && *known == next)
    return;
  const auto name = next.name;
  changes.placements[name] = std::make_shared<placement>(std::move(next));
}

} // namespace

void change_counts(const workload_shard_state& state, const std::vector<count_change>& counts,
                   shard_changes& changes) {
  for (const auto& one : counts)
    put_changed(state, after(state.placements.newest(one.placement).get(), one), changes);
}

void note_counts(workload_shard_pointer self, const note_placements& noted, status_answer answer) {
  shard_changes changes;
  for (const auto& one : noted.placements)
    if (const auto known = self->state.placements.newest(one.name))
      put_changed(self->state, remembering(*known, one), changes);
  write_changes(self, std::move(changes), std::move(answer));
}

} // namespace reprieve
