#include "preemption/candidates.hpp"

#include "preemption/seating.hpp"

#include <algorithm>

namespace reprieve {

namespace {

/// Calls `use(position, pod)` for every pod on the node that is below the priority.
void for_each_below(const cluster_view& view, node_row n, std::int32_t priority, auto use) {
  const auto steps = view.steps(n);
  const auto first = first_step_below(view, n, priority);
  if (first == steps.size())
    return;
  const auto pods = view.pods_on(n);
  for (auto position = steps[first].first; position < pods.size(); ++position)
    use(position, pods[position]);
}

} // namespace

standing candidate_rules::of(pod_row p) const {
  const auto portion = view_.portion_of(p);
  const auto card = view_.card(portion);
  if (card.pods == 1)
    return judge(card, {&p, 1});
  if (const auto known = of_groups_.find(portion); known != of_groups_.end())
    return known->second;
  return of_groups_[portion] = judge(card, view_.pods_of(portion));
}

standing candidate_rules::judge(const portion_card& card, std::span<const pod_row> pods) const {
  if (card.priority >= priority_)
    return standing::at_or_above;
  if (std::ranges::any_of(pods, [&](pod_row one) { return view_.is_daemon(one); }))
    return standing::daemon;
  if (!card.evictable)
    return standing::protected_member;
  if (limits_.opt_out_is_veto
      && std::ranges::any_of(pods, [&](pod_row one) { return view_.opted_out(one); }))
    return standing::opted_out;
  // Who has not started yet has nothing to lose.
  if (card.earliest_start != no_time && now_ - card.earliest_start < limits_.minimum_runtime)
    return standing::too_young;
  return standing::candidate;
}

void candidate_rules::keep_who_may_not_go(trial& tried, std::span<const node_row> nodes) const {
  for (const auto n : nodes)
    for_each_below(view_, n, priority_, [&](std::uint32_t position, pod_row p) {
      if (!may_go(p))
        tried.keep(n, position);
    });
}

std::vector<portion_row> candidate_rules::candidates_on(std::span<const node_row> nodes) const {
  return collect(nodes, [](pod_row) { return true; });
}

std::vector<portion_row>
candidate_rules::candidates_with_budgets_on(std::span<const node_row> nodes) const {
  return collect(nodes, [&](pod_row p) {
    // Of a group, a pod elsewhere may have one.
    return !view_.budgets_of(p).empty() || view_.card(view_.portion_of(p)).pods > 1;
  });
}

std::vector<portion_row> candidate_rules::collect(std::span<const node_row> nodes,
                                                  auto wanted) const {
  std::vector<portion_row> found;
  for (const auto n : nodes)
    for_each_below(view_, n, priority_, [&](std::uint32_t, pod_row p) {
      if (wanted(p) && may_go(p))
        found.push_back(view_.portion_of(p));
    });
  std::ranges::sort(found,
                    [&](portion_row a, portion_row b) { return view_.more_important(a, b); });
  found.erase(std::ranges::unique(found).begin(), found.end());
  return found;
}

} // namespace reprieve
