#include "actors/coordinator/coordinator_grants.hpp"

#include <algorithm>
#include <utility>

namespace reprieve {

namespace {

using self_pointer = coordinator_pointer;

constexpr std::chrono::seconds time_for_grants{1};

/// Whether some queue may use less than before: what this group may is about to be told, and
/// whoever came in by what it was told before would have to go again.
bool lowers_a_limit(const by_name<queue>& before, const by_name<queue>& now) {
  return std::ranges::any_of(now, [&](const auto& one) {
    const auto* was = find(before, one.first);
    return was != nullptr && std::ranges::any_of(was->limit, [&](const auto& most) {
             const auto next = one.second.limit.find(most.first);
             return next != one.second.limit.end() && next->second < most.second;
           });
  });
}

/// Where less is asked for still, it stays as low as it came down to; one that begins anew comes
/// down at once, as the one before it had.
void take_grants(coordinator_state& state, quota_grants told) {
  const auto order = std::pair(told.epoch, told.number);
  if (order < state.grants_order)
    return; // it was on its way for longer than what came since
  state.grants_order = order;
  state.lowering_due = no_time;
  const auto& known = state.grants ? *state.grants : told.asked_down;
  for (const auto& [queue, amounts] : told.asked_down)
    if (const auto* kept = find(known, queue))
      for (const auto& [resource, wanted] : amounts)
        if (const auto to = kept->find(resource); to != kept->end())
          if (auto& granted = told.queues[queue][resource]; granted > to->second)
            granted = to->second;
  state.grants = std::move(told.queues);
}

/// How far a group comes down that is asked to come down to `wanted` by a report that `used` was
/// taken, and takes `spent` by now. What has come since the report stays: the next one tells of it.
std::int64_t grant_to_keep(std::int64_t wanted, std::int64_t used, std::int64_t spent) {
  const auto since = std::max<std::int64_t>(spent - used, 0);
  return std::max(wanted, std::min(spent, wanted + since));
}

} // namespace

bool awaits_grants(self_pointer self) {
  const auto& state = self->state;
  if (state.grants_due == no_time || !state.grants)
    return false;
  const bool all_known = std::ranges::all_of(state.known->queues, [&](const auto& one) {
    const auto* granted = find(*state.grants, one.first);
    return std::ranges::all_of(one.second.limit, [&](const auto& most) {
      return granted != nullptr && granted->contains(most.first);
    });
  });
  return !all_known && state.settings.clock.now(self) < state.grants_due;
}

bool awaits_lowering(self_pointer self) {
  const auto& state = self->state;
  return state.lowering_due != no_time && state.settings.clock.now(self) < state.lowering_due;
}

void expect_grants(self_pointer self, const by_name<queue>& now) {
  auto& state = self->state;
  if (!state.known || state.known->queues != now)
    state.grants_due = state.settings.clock.now(self) + time_for_grants;
  if (state.known && lowers_a_limit(state.known->queues, now))
    state.lowering_due =
      std::max(state.lowering_due, state.settings.clock.now(self) + time_for_grants);
}

void use_grants(self_pointer self, quota_grants& told) {
  take_grants(self->state, std::move(told));
  wake(self);
}

quota_grants lower(self_pointer self, const lower_grants& asked) {
  auto& state = self->state;
  quota_grants kept;
  by_name<queue_totals> below;
  const auto count = [&](const std::string& queue, const resources& stay, const resources& leave) {
    for (const auto* at = find(state.known->queues, queue); at != nullptr;
         at = find(state.known->queues, at->parent)) {
      add_to(below[at->name].staying, stay);
      add_to(below[at->name].leaving, leave);
    }
  };
  for (const auto& [queue, used] : state.mirror.usage())
    count(queue, used.staying, used.leaving);
  for (const auto& [queue, used] : state.lifecycle.needs.coming)
    count(queue, used, {});
  for (const auto& [queue, amounts] : asked.queues) {
    auto& granted = (*state.grants)[queue];
    const auto* reported = find(asked.used, queue);
    for (const auto& [resource, wanted] : amounts) {
      const auto spent = amount_of(below[queue].staying, resource);
      const auto used = reported == nullptr ? spent : amount_of(*reported, resource);
      const auto amount = grant_to_keep(wanted, used, spent);
      if (const auto had = granted.find(resource); had != granted.end())
        had->second = std::min(had->second, amount);
      else
        granted[resource] = amount;
      const auto leaves = amount_of(below[queue].leaving, resource);
      kept.queues[queue][resource] = std::max(amount, spent + leaves);
    }
  }
  state.lowering_due = state.settings.clock.now(self) + answer_time;
  wake(self);
  return kept;
}

} // namespace reprieve
