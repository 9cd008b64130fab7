#include "actors/coordinator/coordinator_snapshot.hpp"

#include "preemption/policies/required_node/required_node.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace reprieve {

namespace {

/// The nodes that are reserved for pods which still wait for them, in order of uid.
std::vector<node_reservation> reservations_of(coordinator_state& state) {
  std::vector<node_reservation> found;
  if (state.reserved.empty())
    return found;
  state.mirror.line().each([&](const waiting_unit& unit) {
    const auto& wanted = unit.who->groups.front();
    const auto since = state.reserved.find(wanted.pods.front().uid);
    if (since != state.reserved.end() && is_bound_to_a_node(*unit.who))
      found.push_back({since->first, wanted.required_node, since->second.since});
  });
  std::ranges::sort(found, {}, &node_reservation::uid);
  return found;
}

} // namespace

read_group_result read_state(coordinator_pointer self) {
  auto& state = self->state;
  const auto& name = state.settings.resource_group;
  if (!knows_enough(state))
    return absl::UnavailableError(
      fmt::format("the coordinator of resource group {} is starting; try again in a moment", name));
  auto found = state.mirror.read_all();
  found.name = name;
  found.taken = state.settings.clock.now(self);
  found.status.grants = state.grants;
  found.status.queues = state.queues;
  for (auto& one : found.status.decisions)
    if (const auto open = state.decisions.find(one.id); open != state.decisions.end()) {
      one.phase = open->second.phase;
      one.told = open->second.told;
    }
  found.status.reservations = reservations_of(state);
  found.status.counting = is_counting(state);
  for (const auto& [placement, share] : state.mirror.placements())
    if (auto then = as_decided(state, share); then != share)
      found.recounted.push_back(std::move(then));
  return found;
}

} // namespace reprieve
