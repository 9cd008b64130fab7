#include "preemption/victims/node_cover.hpp"

#include "preemption/pipeline/scoring.hpp"
#include "preemption/victims/least_choice.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace reprieve {

namespace {

/// Sums up to this can be formed of costs and amounts.
constexpr wide_int most_in_all = std::int64_t{1} << 60;

/// What all pods that are needed ask for beyond the room there is.
std::vector<std::int64_t> lacking_on(const problem& given, const domain_room& room) {
  std::vector<std::int64_t> lacking(given.view.width());
  for (std::size_t c = 0; c < lacking.size(); ++c) {
    wide_int asked = 0;
    for (const auto& group : given.asked.groups)
      asked += static_cast<wide_int>(group.request[c]) * static_cast<wide_int>(group.needed);
    if (asked > 0)
      lacking[c] = static_cast<std::int64_t>(
        std::clamp<wide_int>(asked - room.room(0)[c], 0, std::numeric_limits<std::int64_t>::max()));
  }
  return lacking;
}

} // namespace

bool are_as_important(const portion_card& a, const portion_card& b) {
  return a.priority == b.priority && a.group == b.group && a.pods == b.pods
         && a.earliest_start == b.earliest_start;
}

cost_of_going cost_of_going_of(const problem& given, portion_row p) {
  const auto card = given.view.card(p);
  // Of the lowest priority there is a pod weighs nothing, and yet fewer of them are to go.
  const auto weight = std::max(priority_weight(card), std::int64_t{card.pods});
  const auto work = work_lost(given.view, p, given.settings.now);
  return given.settings.group.minimised == minimise::pods ? cost_of_going{weight, work}
                                                          : cost_of_going{work, weight};
}

std::optional<node_victims> least_victims_on_node(const problem& given, domain_room& room,
                                                  std::span<const portion_row> candidates,
                                                  std::size_t most_steps,
                                                  const victims_judge& may_go) {
  room.open(nobody_goes);
  return least_victims_who_give(given, room.node(0), lacking_on(given, room), candidates,
                                most_steps, may_go);
}

std::optional<node_victims>
least_victims_who_give(const problem& given, node_row n, amounts lacking,
                       std::span<const portion_row> candidates, std::size_t most_steps,
                       const victims_judge& may_go, bool spare_the_important) {
  const auto& view = given.view;
  std::vector<std::size_t> short_of;
  std::vector<std::int64_t> needs;
  for (std::size_t c = 0; c < lacking.size(); ++c)
    if (lacking[c] > 0) {
      short_of.push_back(c);
      needs.push_back(lacking[c]);
    }
  std::vector<cover_candidate> all;
  std::vector<portion_row> who;
  wide_int costs = 0;
  wide_int losses = 0;
  std::vector<wide_int> given_in_all(needs.size());
  for (const auto portion : candidates) {
    const auto cost = cost_of_going_of(given, portion);
    cover_candidate one{cost.first, std::vector<std::int64_t>(needs.size()), cost.second};
    for (const auto p : view.pods_of(portion))
      if (view.node_of(p) == n)
        for (std::size_t r = 0; r < needs.size(); ++r)
          one.gives[r] += view.requests(p)[short_of[r]];
    if (std::ranges::all_of(one.gives, [](std::int64_t amount) { return amount <= 0; }))
      continue; // whose going is of no use
    costs += one.cost;
    losses += one.loss;
    for (std::size_t r = 0; r < needs.size(); ++r)
      given_in_all[r] += one.gives[r] = std::clamp<std::int64_t>(one.gives[r], 0, needs[r]);
    one.like_before = !who.empty() && are_as_important(view.card(who.back()), view.card(portion));
    all.push_back(std::move(one));
    who.push_back(portion);
  }
  if (std::max(costs, needs.empty() ? 0 : *std::ranges::max_element(given_in_all)) > most_in_all)
    return std::nullopt;
  if (losses > most_in_all)
    for (auto& one : all)
      one.loss = 0;
  const auto portions_of = [&](std::span<const std::size_t> chosen) {
    std::vector<portion_row> portions;
    for (const auto at : chosen)
      portions.push_back(who[at]);
    std::ranges::sort(portions,
                      [&](portion_row a, portion_row b) { return view.more_important(a, b); });
    return portions;
  };
  choice_rules rules;
  if (given.settings.group.minimised == minimise::work || !spare_the_important)
    rules.then = then_counts::what_is_lost;
  if (may_go)
    rules.may_be = [&](std::span<const std::size_t> chosen) { return may_go(portions_of(chosen)); };
  const auto chosen = choose_least(all, needs, most_steps, rules);
  if (!chosen)
    return std::nullopt;
  node_victims found{portions_of(chosen->who), chosen->proved && losses <= most_in_all, 0,
                     chosen->steps};
  if (given.settings.group.minimised == minimise::pods)
    found.bound = chosen->bound;
  return found;
}

} // namespace reprieve
