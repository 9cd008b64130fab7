#include "preemption/pipeline/candidates.hpp"

#include "preemption/room/seating.hpp"

#include <algorithm>

namespace reprieve {

namespace {

/// Calls `use(pod)` for every pod on the node up to the level.
void for_each_up_to(const cluster_view& view, node_row n, std::int64_t level, auto use) {
  const auto steps = view.steps(n);
  const auto first = step_at(view, n, level);
  if (first == steps.size())
    return;
  for (const auto p : view.pods_on(n).subspan(steps[first].first))
    use(p);
}

} // namespace

candidate_rules::candidate_rules(const problem& given, candidate_terms terms)
    : view_(given.view), who_(given.who), level_(given.highest_level()), terms_(std::move(terms)),
      settings_(given.settings),
      looks_closer_(given.scope || terms_.highest < level_ || terms_.whole_workloads
                    || given.who.may_have_weaker_kin
                    || given.settings.group.limits.minimum_runtime > duration{0}
                    || given.settings.group.limits.preemptions_per_workload_per_hour) {
  terms_.scope = given.scope;
}

standing standing_by_guards(const cluster_view& view, const plan_settings& settings, portion_row p,
                            const guards_that_hold& with) {
  const auto card = view.card(p);
  const auto& limits = settings.group.limits;
  if (card.daemon)
    return standing::daemon;
  if (!card.evictable && with.any)
    return standing::protected_member;
  if (card.arriving)
    return standing::arriving;
  if (card.opted_out && limits.opt_out_is_veto && with.opt_out_may_veto && with.any)
    return standing::opted_out;
  // Who has not started yet has nothing to lose.
  const auto has_to_run = std::max(limits.minimum_runtime, card.minimum_runtime);
  if (with.any && has_to_run > duration{0} && card.earliest_start != no_time
      && settings.now - card.earliest_start < has_to_run)
    return standing::too_young;
  if (const auto most = limits.preemptions_per_workload_per_hour;
      most && settings.times_preempted(view.id_of(p).workload) >= *most)
    return standing::too_often;
  return standing::candidate;
}

standing candidate_rules::of_itself(portion_row p) const {
  const auto card = view_.card(p);
  const bool shielded = !terms_.scope || !terms_.scope->overrules;
  if (terms_.scope && !terms_.scope->portions.contains(p))
    return standing::out_of_scope;
  if (card.priority > level_)
    return standing::at_or_above;
  if (who_.may_have_weaker_kin && view_.id_of(p).workload == who_.workload)
    return standing::own;
  if (card.priority > terms_.highest)
    return standing::not_preemptible;
  return standing_by_guards(view_, settings_, p, {terms_.opt_out_may_veto, shielded});
}

standing candidate_rules::of(portion_row p) const {
  const auto alone = of_itself(p);
  if (alone != standing::candidate || !terms_.whole_workloads)
    return alone;
  const bool all_may_go = std::ranges::all_of(
    kin_of(p), [this](portion_row one) { return of_itself(one) == standing::candidate; });
  return all_may_go ? standing::candidate : standing::kin_stays;
}

std::vector<portion_row> candidate_rules::kin_of(portion_row p) const {
  if (!terms_.whole_workloads)
    return {p};
  if (kin_.empty())
    for (node_row n = 0; n < view_.node_rows(); ++n)
      if (view_.present(n))
        for (const auto one : view_.pods_on(n))
          kin_[view_.id_of(view_.portion_of(one)).workload].push_back(view_.portion_of(one));
  const auto found = kin_.find(view_.id_of(p).workload);
  if (found == kin_.end())
    return {p};
  auto kin = found->second;
  std::ranges::sort(kin);
  kin.erase(std::ranges::unique(kin).begin(), kin.end());
  std::ranges::sort(kin, {}, [this](portion_row one) { return view_.id_of(one); });
  return kin;
}

void candidate_rules::keep_who_may_not_go(domain_room& room,
                                          std::span<const node_row> nodes) const {
  for (const auto n : nodes)
    if (!all_may_go(n))
      for_each_up_to(view_, n, level_, [&](pod_row p) {
        if (!may_go(view_.portion_of(p)))
          room.keep(p);
      });
}

std::vector<portion_row> candidate_rules::candidates_on(std::span<const node_row> nodes,
                                                        std::int64_t level) const {
  return collect(nodes, level, [](pod_row) { return true; });
}

std::vector<portion_row>
candidate_rules::candidates_with_budgets_on(std::span<const node_row> nodes) const {
  return collect(nodes, level_, [&](pod_row p) {
    // Of a group, a pod elsewhere may have one.
    return !view_.budgets_of(p).empty() || view_.card(view_.portion_of(p)).pods > 1;
  });
}

std::vector<portion_row> candidate_rules::collect(std::span<const node_row> nodes,
                                                  std::int64_t level, auto wanted) const {
  std::vector<portion_row> found;
  for (const auto n : nodes) {
    const bool all = all_may_go(n);
    for_each_up_to(view_, n, level, [&](pod_row p) {
      if (wanted(p) && (all || may_go(view_.portion_of(p))))
        found.push_back(view_.portion_of(p));
    });
  }
  std::ranges::sort(found);
  found.erase(std::ranges::unique(found).begin(), found.end());
  std::ranges::sort(found,
                    [&](portion_row a, portion_row b) { return view_.more_important(a, b); });
  return found;
}

} // namespace reprieve
