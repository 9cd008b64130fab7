#include "actors/workload_shard/workload_holds.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace reprieve {

namespace {

absl::Status vote_on_workload(const workload_shard_state& state, const workload_part& part) {
  const auto record = state.workloads.newest(part.workload);
  if (!record)
    return absl::FailedPreconditionError(fmt::format("workload {} is gone", part.workload));
  if (part.generation != 0 && (record->deleting || record->status.generation != part.generation))
    return absl::FailedPreconditionError(
      fmt::format("workload {} has changed since the plan was made", part.workload));
  for (const auto& [slot, incarnation] : part.placed)
    if (!wants(*record, slot, incarnation))
      return absl::FailedPreconditionError(
        fmt::format("workload {} does not want pod {}/{}/{} any more", part.workload, slot.group,
                    slot.replica, slot.index));
  return absl::OkStatus();
}

absl::Status vote_on_count(const workload_shard_state& state, const std::string& decision,
                           const count_change& change) {
  for (const auto& [other, hold] : state.holds.held)
    if (other != decision
        && std::ranges::find(hold.parts.counts, change.placement, &count_change::placement)
             != hold.parts.counts.end())
      return absl::FailedPreconditionError(
        fmt::format("placement {} is being changed by decision {}", change.placement, other));
  const auto known = state.placements.newest(change.placement);
  const auto committed = known ? known->committed : 0;
  if (known && (known->deployment != change.deployment || known->cluster != change.cluster))
    return absl::FailedPreconditionError(
      fmt::format("placement {} is another one by now", change.placement));
  if (committed != change.from)
    return absl::FailedPreconditionError(
      fmt::format("placement {} has {} replicas committed, and the plan saw {}", change.placement,
                  committed, change.from));
  return absl::OkStatus();
}

/// How many pods other decisions take within a budget that its count does not show yet. What they
/// take beyond it, knowingly, leaves the others what they were promised.
std::int64_t taken_by_others(const workload_shard_state& state, const std::string& decision,
                             const std::string& budget) {
  std::int64_t taken = 0;
  for (const auto& [other, parts] : state.evicting)
    for (const auto& part : parts)
      if (other != decision && part.budget == budget)
        taken += std::max<std::int64_t>(state.counted.staying(part.pods) - part.over, 0);
  return taken;
}

absl::Status vote_on_budget(workload_shard_state& state, const std::string& decision,
                            const budget_part& part) {
  const auto allowed = state.counted.allowed(part.budget);
  if (!allowed)
    return absl::OkStatus(); // it has gone, and with it what it forbade
  if (state.counted_nodes.size() < state.nodes.size())
    return absl::UnavailableError(
      fmt::format("the pods that budget {} counts are not known yet", part.budget));
  const auto left = *allowed - taken_by_others(state, decision, part.budget);
  const auto asked = state.counted.staying(part.pods) - part.over;
  if (asked > std::max<std::int64_t>(left, 0))
    return absl::FailedPreconditionError(
      fmt::format("budget {} lets {} more pods go, and {} were to go within it", part.budget,
                  std::max<std::int64_t>(left, 0), asked));
  return absl::OkStatus();
}

} // namespace

absl::Status vote(workload_shard_pointer self, const prepare<workload_parts>& asked) {
  auto& state = self->state;
  if (auto allowed = may_vote(state.holds, asked.decision); !allowed.ok())
    return allowed;
  for (const auto& part : asked.parts.workloads)
    if (auto voted = vote_on_workload(state, part); !voted.ok())
      return voted;
  for (const auto& part : asked.parts.budgets)
    if (auto voted = vote_on_budget(state, asked.decision, part); !voted.ok())
      return voted;
  for (const auto& change : asked.parts.counts)
    if (auto voted = vote_on_count(state, asked.decision, change); !voted.ok())
      return voted;
  if (!asked.parts.budgets.empty())
    state.evicting[asked.decision] = asked.parts.budgets;
  std::vector<std::string> workloads;
  for (const auto& part : asked.parts.workloads)
    if (part.generation != 0)
      workloads.push_back(part.workload);
  keep_hold(self, asked, std::move(workloads));
  return absl::OkStatus();
}

void change_unlent(workload_shard_pointer self, std::vector<std::string> workloads,
                   std::function<void()> change) {
  auto go_on = [self, workloads, change = std::move(change)] {
    if (self->state.ledger.lends == 0)
      change();
    else
      when_nothing_is_lent(self,
                           [self, workloads, change] { change_unlent(self, workloads, change); });
  };
  change_when_free(self, std::move(workloads), "a workload that it places is being changed",
                   std::move(go_on));
}

} // namespace reprieve
