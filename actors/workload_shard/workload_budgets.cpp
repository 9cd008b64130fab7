#include "actors/workload_shard/workload_budgets.hpp"

#include <algorithm>

namespace reprieve {

namespace {

using self_pointer = workload_shard_pointer;

/// Begins to count pods for budgets, once there are any and it is known whom to ask.
void count_for_budgets(self_pointer self) {
  auto& state = self->state;
  if (state.follows_nodes || state.nodes.empty() || state.budgets.durable().empty())
    return;
  state.follows_nodes = true;
  for (const auto& shard : state.nodes)
    self->send(shard, follow_nodes{self});
}

} // namespace

void know_budgets(self_pointer self, const std::vector<disruption_budget>& changed,
                  const std::vector<std::string>& removed) {
  for (const auto& budget : changed)
    self->state.counted.put(budget);
  for (const auto& name : removed)
    self->state.counted.remove(name);
  count_for_budgets(self);
}

void count_pods_of(self_pointer self, meet_nodes& there) {
  auto& state = self->state;
  if (state.nodes == there.shards)
    return;
  // Who was followed before sends everything again, as others may have begun anew.
  state.nodes = std::move(there.shards);
  state.counted.forget_nodes();
  state.counted_nodes.clear();
  state.follows_nodes = false;
  count_for_budgets(self);
}

void count(self_pointer self, node_delta& delta) {
  auto& state = self->state;
  state.counted_nodes.insert(delta.shard);
  for (auto& record : delta.changed)
    state.counted.put(std::move(record));
  for (const auto& name : delta.removed)
    state.counted.remove_node(name);
  // What the records show is not counted twice. Who holds a vote may still ask.
  std::erase_if(state.evicting, [&](const auto& one) {
    return !state.holds.held.contains(one.first)
           && std::ranges::all_of(one.second, [&](const budget_part& part) {
                return state.counted.staying(part.pods) == 0;
              });
  });
}

void forget_earlier_evictions(workload_shard_state& state, const drop_votes& order) {
  std::erase_if(state.evicting, [&](const auto& one) {
    return epoch_of_decision(one.first) < order.before && !order.open.contains(one.first);
  });
}

} // namespace reprieve
