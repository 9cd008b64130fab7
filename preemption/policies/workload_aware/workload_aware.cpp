#include "preemption/policies/workload_aware/workload_aware.hpp"

#include "preemption/evaluation/score_bounds.hpp"
#include "preemption/pipeline/budgets.hpp"
#include "preemption/victims/candidate_order.hpp"
#include "preemption/victims/cheapest_victims.hpp"
#include "preemption/victims/exact_victim_search.hpp"
#include "preemption/victims/node_cover.hpp"
#include "preemption/victims/seat_cover.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace reprieve {

namespace {

/// Up to so many candidates all sets of victims are gone through.
constexpr std::size_t most_for_exact = 20;
constexpr std::size_t exact_steps = 20'000;
/// On a single node the search begins near the best, and there are many nodes.
constexpr std::size_t exact_steps_on_a_node = 500;
/// Of the search for the least by amounts alone; a step looks at all candidates that differ.
constexpr std::size_t most_cover_steps = 2'000;
/// Likewise where each set that is found is looked at whole.
constexpr std::size_t most_judged_steps = 500;
constexpr std::size_t candidates_in_all_cover_steps = 400'000;
/// Up to so many pods a gang's seats are shared out among few nodes by what they cost there.
constexpr std::size_t most_to_share_out = 400;
constexpr std::size_t share_out_steps = 100;
/// Up to so many pods everybody goes and comes back one by one.
constexpr std::size_t most_for_sparing = 4'000;

} // namespace

workload_aware::workload_aware(const problem& given)
    : given_(given), rules_(given), cascade_(given), room_(given), elsewhere_(given) {}

domain_set workload_aware::domains() const {
  return given_.who.gang ? domain_set::for_gang(given_) : domain_set::single_nodes(given_);
}

std::optional<score> workload_aware::bound(const domain& where) const {
  return given_.who.gang ? best_score() : bound_on_node(given_, where.nodes.front());
}

std::optional<score> workload_aware::bound_on(const node_block& block) const {
  return bound_on_block(given_, block);
}

attempt workload_aware::try_domain(const domain& where) {
  const auto& limits = given_.settings.group.limits;
  effort spent{limits.search_budget};
  spent.spend(where.nodes.size());
  room_.start(where.nodes, domain_room::basis::promised);
  rules_.keep_who_may_not_go(room_, where.nodes);
  room_.open(highest_level());
  if (!room_.fits()) {
    attempt none{given_.asked};
    none.lacking = shortage_of(given_, room_);
    return none;
  }
  threshold_.reset();
  enough_in_ = {};
  auto best = try_plainly(where, spent);
  if (given_.settings.placing == placing_rule::cheapest)
    try_thriftily(where, best, spent);
  if (!best) {
    best.emplace(given_.asked);
    if (!enough_in_.empty())
      best->why_not = fmt::format("more would go than are enough in {}", enough_in_);
  }
  best->budget_reached = spent.exhausted();
  if (best->too_many_victims)
    best->why_not = fmt::format("{} victim{} the fewest that were found to be enough, and a "
                                "decision may have {}",
                                best->victims.size(), best->victims.size() == 1 ? " is" : "s are",
                                limits.victims_per_decision.value_or(0));
  return *std::move(best);
}

std::optional<attempt> workload_aware::try_plainly(const domain& where, effort& spent) {
  seating found{given_.asked};
  room_.open(highest_level());
  if (!room_.seat_as_listed(found))
    return std::nullopt;
  const auto kept_before = room_.kept();
  room_.claim(found);
  const auto counted = counted_by_budgets(where);
  const auto kept =
    respect_budgets(counted, [&](portion_row p) { return room_.put_back_beside_claims(p); });
  const auto seats_at = [&](std::int64_t level) {
    room_.open(level);
    return room_.seat_as_listed(found);
  };
  auto threshold = highest_level();
  if (given_.settings.placing == placing_rule::cheapest)
    threshold = lowest_level([&] { return room_.seat_as_listed(found); });
  if (!seats_at(threshold))
    return std::nullopt;
  room_.claim(found);
  std::vector<node_row> used;
  for (const auto& one : found.seats)
    if (used.empty() || used.back() != one.node)
      used.push_back(one.node);
  std::vector<portion_row> victims;
  for (const auto p : rules_.candidates_on(used, threshold)) {
    spent.spend(1);
    if (!kept.contains(p) && !room_.put_back_beside_claims(p))
      victims.push_back(p);
  }
  room_.forget_kept(kept_before);
  auto made = outcome_of(victims, std::move(found));
  // With other seats somebody may not have to go after all.
  if (given_.settings.placing == placing_rule::cheapest) {
    victims.clear();
    for (const auto& one : made.victims)
      victims.push_back(one.portion);
    if (auto other = outcome_of(victims);
        (other.feasible || other.too_many_victims) && other.victims.size() < victims.size())
      made = std::move(other);
  }
  made.kept_for_budgets = kept;
  if (given_.settings.placing == placing_rule::plain)
    count_as_if_all_went(made, counted);
  if (!victims.empty())
    made.threshold = made.scored.highest_victim_priority;
  std::optional<attempt> best;
  consider(std::move(made), best);
  return best;
}

void workload_aware::try_thriftily(const domain& where, std::optional<attempt>& best,
                                   effort& spent) {
  const auto counted = counted_by_budgets({where.name, where.nodes});
  const bool budgets = std::ranges::any_of(pods_over_budget(given_.view, counted),
                                           [](std::int64_t pods) { return pods > 0; });
  const bool one_node = room_.size() == 1;
  room_.open(highest_level());
  const auto kept_before = room_.kept();
  const auto kept = respect_budgets(counted, [&](portion_row p) {
    room_.occupy(p);
    if (room_.fits())
      return true;
    room_.vacate(p);
    return false;
  });
  const auto threshold = try_keeping(kept, best, spent);
  room_.forget_kept(kept_before);
  // In the end few of the candidates go, and budgets may hold although nobody was kept for them.
  if (!kept.empty() && !one_node && !spent.exhausted())
    try_keeping({}, best, spent);

  if (!one_node && best && best->feasible)
    try_to_share_out(threshold, best, spent);

  const bool too_many = best && best->too_many_victims;
  if (too_many)
    try_fewer_victims(threshold, best, spent);
  // Sparing a budget may be worth a more important victim, and so may a limit to their number: then
  // everybody is a candidate.
  const auto level = budgets || too_many ? highest_level() : threshold;
  if (one_node && !budgets && best && best->feasible && is_least_on_node(level, best, spent))
    return;
  if (one_node || pods_up_to(level) <= 8 * most_for_exact)
    if (const auto candidates = rules_.candidates_on(room_.nodes(), level);
        one_node || candidates.size() <= most_for_exact)
      if (try_everything(candidates, level, one_node ? exact_steps_on_a_node : exact_steps, best,
                         spent)
          && best)
        best->proved = room_.counts_seats();
}

std::int64_t workload_aware::try_keeping(const std::set<portion_row>& kept,
                                         std::optional<attempt>& best, effort& spent) {
  const bool one_node = room_.size() == 1;
  const auto threshold = lowest_level([&] { return room_.fits(); });
  const auto add = [&](std::span<const portion_row> victims) {
    auto made = outcome_of(victims);
    made.kept_for_budgets = kept;
    if (!victims.empty())
      made.threshold = made.scored.highest_victim_priority;
    consider(std::move(made), best);
  };
  const auto pods = pods_up_to(threshold);
  if (pods <= most_for_sparing) {
    auto candidates = rules_.candidates_on(room_.nodes(), threshold);
    std::erase_if(candidates, [&](portion_row p) { return kept.contains(p); });
    if (one_node)
      put_those_first_who_hold_little(given_, room_, candidates);
    auto victims = spare_the_important(room_, candidates, threshold, spent);
    std::ranges::sort(
      victims, [&](portion_row a, portion_row b) { return given_.view.more_important(a, b); });
    add(victims);
  }
  if (room_.counts_seats() && !one_node && !spent.exhausted())
    add(buy_cheapest_seats(given_, rules_, kept, room_, threshold, spent));
  return threshold;
}

void workload_aware::try_to_share_out(std::int64_t threshold, std::optional<attempt>& best,
                                      effort& spent) {
  const auto pods = pods_up_to(threshold);
  if (!may_share_out_seats(given_, room_) || pods <= most_for_exact || pods > most_to_share_out
      || spent.exhausted())
    return;
  const auto candidates = rules_.candidates_on(room_.nodes(), threshold);
  std::vector<portion_row> on_several_nodes;
  for (const auto& one : best->victims)
    if (std::ranges::any_of(one.pods, [&](pod_row p) {
          return given_.view.node_of(p) != given_.view.node_of(one.pods.front());
        }))
      on_several_nodes.push_back(one.portion);
  const auto try_with = [&](std::span<const portion_row> gone) {
    spent.spend(room_.size() * share_out_steps);
    const auto least = least_victims_for_seats(given_, room_, candidates, gone, share_out_steps);
    if (!least)
      return;
    auto made = outcome_of(least->portions);
    made.threshold = made.scored.highest_victim_priority;
    made.kept_for_budgets = best->kept_for_budgets;
    consider(std::move(made), best);
    best->floor = std::max(best->floor, least->bound);
  };
  try_with({});
  if (!on_several_nodes.empty())
    try_with(on_several_nodes);
}

void workload_aware::try_fewer_victims(std::int64_t threshold, std::optional<attempt>& best,
                                       effort& spent) {
  const auto wanted = what_is_short(given_, room_);
  for (const auto level : levels()) {
    if (best->feasible || spent.exhausted() || pods_up_to(level) > most_for_sparing)
      return;
    if (level < threshold)
      continue;
    auto candidates = rules_.candidates_on(room_.nodes(), level);
    put_the_largest_last(given_.view, room_, wanted, candidates);
    auto victims = spare_the_important(room_, candidates, level, spent);
    std::ranges::sort(
      victims, [&](portion_row a, portion_row b) { return given_.view.more_important(a, b); });
    auto made = outcome_of(victims);
    made.threshold = made.scored.highest_victim_priority;
    consider(std::move(made), best);
  }
}

bool workload_aware::is_least_on_node(std::int64_t level, std::optional<attempt>& best,
                                      effort& spent) {
  // Most often a look at the smallest of those who could go is enough to see it.
  if (!better(floor_on_node(given_, room_.node(0), best->scored), best->scored,
              given_.settings.group.minimised)) {
    best->proved = true;
    return true;
  }
  const auto candidates = rules_.candidates_on(room_.nodes(), level);
  const auto most_steps = std::clamp<std::size_t>(candidates_in_all_cover_steps
                                                    / std::max<std::size_t>(candidates.size(), 1),
                                                  1, most_cover_steps);
  const auto take = [&](std::span<const portion_row> victims) {
    auto made = outcome_of(victims);
    made.threshold = made.scored.highest_victim_priority;
    made.kept_for_budgets = best->kept_for_budgets;
    const bool is_calm = made.feasible && !made.scored.cascades;
    return consider(std::move(made), best) && is_calm;
  };
  const auto least = least_victims_on_node(given_, room_, candidates, most_steps);
  spent.spend(candidates.size() + (least ? least->steps : most_steps));
  if (!least)
    return false;
  best->floor = least->bound;
  if (take(least->portions)) {
    best->proved = least->proved;
  } else {
    // Others may cost more, and yet nobody of them would have to preempt.
    const auto calm = least_victims_on_node(
      given_, room_, candidates, most_judged_steps, [&](std::span<const portion_row> victims) {
        const auto made = outcome_of(victims);
        return made.feasible && made.victims.size() == victims.size() && !made.scored.cascades
               && !is_more_than_enough(made);
      });
    spent.spend(calm ? calm->steps : most_judged_steps);
    if (calm && !calm->portions.empty())
      take(calm->portions);
    best->proved = least->proved && calm && calm->proved;
  }
  best->floor = least->bound;
  return best->proved;
}

bool workload_aware::try_everything(std::span<const portion_row> candidates, std::int64_t level,
                                    std::size_t most_steps, std::optional<attempt>& best,
                                    effort& spent) {
  room_.open(level);
  exact_victim_search all{given_, room_, candidates, most_steps, spent};
  const auto known = best && best->feasible ? std::optional{best->scored} : std::nullopt;
  all.run(known, [&](const std::vector<portion_row>& victims) {
    auto made = outcome_of(victims);
    // As the search had it: candidates that stay are back.
    room_.open(level);
    for (const auto p : candidates)
      if (std::ranges::find(victims, p) == victims.end())
        room_.occupy(p);
    const auto scored = made.feasible ? std::optional{made.scored} : std::nullopt;
    if (!victims.empty())
      made.threshold = made.scored.highest_victim_priority;
    return consider(std::move(made), best) ? scored : std::nullopt;
  });
  return all.was_complete();
}

std::vector<portion_row> workload_aware::counted_by_budgets(const domain& where) const {
  if (given_.view.budget_rows() == 0)
    return {};
  std::vector<node_row> nodes{where.nodes.begin(), where.nodes.end()};
  nodes.insert(nodes.end(), where.others.begin(), where.others.end());
  return rules_.candidates_with_budgets_on(nodes);
}

void workload_aware::count_as_if_all_went(attempt& made,
                                          std::span<const portion_row> candidates) const {
  const auto over_budget = pods_over_budget(given_.view, candidates);
  for (auto& one : made.victims) {
    const auto at = std::ranges::find(candidates, one.portion) - candidates.begin();
    one.pods_over_budget =
      at == std::ssize(candidates) ? 0 : over_budget[static_cast<std::size_t>(at)];
  }
  made.scored = score_of(given_.view, made.victims, made.scored.cascades, given_.settings.now);
}

template <class Stays>
std::set<portion_row> workload_aware::respect_budgets(std::span<const portion_row> candidates,
                                                      Stays stays) {
  std::set<portion_row> kept;
  const auto over_budget = pods_over_budget(given_.view, candidates);
  for (std::size_t i = 0; i < candidates.size(); ++i)
    if (over_budget[i] > 0 && stays(candidates[i]))
      kept.insert(candidates[i]);
  for (const auto p : kept)
    room_.keep_portion(p);
  return kept;
}

std::vector<std::int64_t> workload_aware::levels() const {
  std::vector<std::int64_t> found;
  for (const auto n : room_.nodes())
    for (const auto& step : given_.view.steps(n)) {
      if (step.priority > highest_level())
        continue;
      const auto at = std::ranges::lower_bound(found, std::int64_t{step.priority});
      if (at == found.end() || *at != step.priority)
        found.insert(at, step.priority);
    }
  return found;
}

template <class Fits>
std::int64_t workload_aware::lowest_level(Fits fits) {
  // Where seats are counted and no budget keeps anybody, it is the same however seats are found.
  const bool same_for_all = room_.counts_seats() && given_.view.budget_rows() == 0;
  if (same_for_all && threshold_)
    return *threshold_;
  const auto all = levels();
  const auto fits_at = [&](std::int64_t level) {
    room_.open(level);
    return fits();
  };
  // Seats in turn are a rule of thumb where groups compete, so that a higher level may fail where a
  // lower one does not: then each is tried.
  const auto lowest =
    room_.counts_seats() || all.size() > 16
      ? std::ranges::partition_point(all, [&](std::int64_t level) { return !fits_at(level); })
      : std::ranges::find_if(all, fits_at);
  threshold_ = lowest == all.end() ? highest_level() : *lowest;
  return *threshold_;
}

std::size_t workload_aware::pods_up_to(std::int64_t level) const {
  const auto& view = given_.view;
  std::size_t pods = 0;
  for (const auto n : room_.nodes())
    if (const auto step = step_at(view, n, level); step < view.steps(n).size())
      pods += view.pods_on(n).size() - view.steps(n)[step].first;
  return pods;
}

attempt workload_aware::outcome_of(std::span<const portion_row> victims) {
  room_.open(nobody_goes);
  for (const auto p : victims)
    room_.vacate(p);
  // Whoever need not go comes back, even if then somebody else would have to preempt to run again.
  std::vector<portion_row> needed;
  std::ranges::copy_if(victims, std::back_inserter(needed), [&](portion_row p) {
    room_.occupy(p);
    const bool stays = room_.fits();
    if (!stays)
      room_.vacate(p);
    return !stays;
  });
  seating found{given_.asked};
  if (!room_.seat(found))
    return attempt{given_.asked};
  return outcome_of(needed, std::move(found));
}

attempt workload_aware::outcome_of(std::span<const portion_row> victims, seating found) {
  const auto& settings = given_.settings;
  attempt made{given_.asked};
  made.found = std::move(found);
  room_.open(nobody_goes);
  for (const auto p : victims)
    room_.vacate(p);
  room_.claim(made.found);
  // Where groups compete for nodes, one that had to go while seats were looked for may not be in
  // the way of those that were found.
  std::vector<portion_row> in_the_way;
  std::ranges::copy_if(victims, std::back_inserter(in_the_way),
                       [&](portion_row p) { return !room_.put_back_beside_claims(p); });
  room_.seat_the_rest(made.found);
  made.victims = cost_of(given_.view, in_the_way, settings.now);
  const auto most = settings.group.limits.victims_per_decision;
  made.too_many_victims = most && std::ssize(in_the_way) > *most;
  made.feasible = !made.too_many_victims;
  const bool cascades =
    settings.placing == placing_rule::cheapest && cascade_.cascades(made.victims, made.found.seats);
  made.scored = score_of(given_.view, made.victims, cascades, settings.now);
  return made;
}

bool workload_aware::consider(attempt made, std::optional<attempt>& best) {
  const bool is_outcome = made.feasible || made.too_many_victims;
  if (!is_outcome)
    return false;
  const auto wins = [&] {
    if (!best || made.feasible != best->feasible)
      return !best || made.feasible;
    // Of those that are too many the fewest are told.
    if (!made.feasible && made.victims.size() != best->victims.size())
      return made.victims.size() < best->victims.size();
    return better(made.scored, best->scored, given_.settings.group.minimised);
  };
  if (!wins())
    return true;
  if (is_more_than_enough(made))
    return false;
  best = std::move(made);
  return true;
}

bool workload_aware::is_more_than_enough(const attempt& made) {
  if (given_.settings.placing == placing_rule::plain)
    return false;
  std::vector<portion_row> victims;
  for (const auto& one : made.victims)
    victims.push_back(one.portion);
  const auto fewer_in = elsewhere_.find(room_, victims);
  if (!fewer_in.empty())
    enough_in_ = fewer_in;
  return !fewer_in.empty();
}

} // namespace reprieve
