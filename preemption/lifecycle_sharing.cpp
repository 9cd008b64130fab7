#include "preemption/lifecycle_sharing.hpp"

#include <algorithm>

namespace reprieve {

queue_sharing::queue_sharing(const lifecycle_allocation& after) : grants_(after.grants()) {
  for (const auto& share : after.shares())
    by_deployment_.emplace(share.now.deployment, &share);
}

const counted_share* queue_sharing::share_of(std::string_view deployment) const {
  const auto found = by_deployment_.find(deployment);
  return found == by_deployment_.end() ? nullptr : found->second;
}

bool queue_sharing::may_go(std::string_view of, std::string_view to, bool less_important) {
  const auto* loser = share_of(of);
  const auto* winner = share_of(to);
  if (loser == nullptr || winner == nullptr || loser->of->queue == winner->of->queue)
    return less_important;
  const std::tuple asked{std::string_view(loser->now.deployment),
                         std::string_view(winner->now.deployment), less_important};
  const auto [at, fresh] = answered_.try_emplace(asked, false);
  if (fresh)
    at->second = would_go(*loser, *winner, less_important);
  return at->second;
}

bool queue_sharing::would_go(const counted_share& of, const counted_share& to,
                             bool less_important) {
  const auto more = taken_by_replica(to.of->who);
  const bool lavish = grants_.uses_too_much(of.of->queue, more);
  if (!lavish && (!less_important || grants_.anybody_uses_too_much(more)))
    return false;
  const auto less = taken_by_replica(of.of->who);
  grants_.give_back(of.of->queue, less);
  const bool allowed = grants_.in_the_way(to.of->queue, more, true).why.empty();
  grants_.take(of.of->queue, less);
  return allowed;
}

void queue_sharing::move_victims(const lifecycle_match& made, std::int64_t sign) {
  for (const auto& one : made.victims)
    if (const auto* loser = share_of(one.deployment);
        loser != nullptr
        && (one.stage == victim_stage::surplus || one.stage == victim_stage::committed)) {
      const auto amounts = taken_by_replica(loser->of->who);
      if (sign > 0)
        grants_.take(loser->of->queue, amounts);
      else
        grants_.give_back(loser->of->queue, amounts);
    }
}

lifecycle_grants::obstacle queue_sharing::in_the_way(std::string_view deployment) const {
  const auto& of = *share_of(deployment)->of;
  return grants_.in_the_way(of.queue, taken_by_replica(of.who), true);
}

lifecycle_grants::obstacle queue_sharing::in_the_way(const lifecycle_match& made) {
  const auto& to = *share_of(made.deployment)->of;
  const bool from_others = std::ranges::any_of(made.victims, [&](const lifecycle_victim& one) {
    const auto* loser = share_of(one.deployment);
    return loser != nullptr && one.stage == victim_stage::committed && loser->of->queue != to.queue;
  });
  move_victims(made, -1);
  auto found = grants_.in_the_way(to.queue, taken_by_replica(to.who), from_others);
  move_victims(made, 1);
  return found;
}

void queue_sharing::matched(const lifecycle_match& made) {
  move_victims(made, -1);
  if (const auto* winner = share_of(made.deployment))
    grants_.take(winner->of->queue, taken_by_replica(winner->of->who));
  answered_.clear();
}

} // namespace reprieve
