#include "preemption/node_cover.hpp"

#include "preemption/least_choice.hpp"
#include "preemption/scoring.hpp"

#include <algorithm>
#include <limits>
#include <tuple>
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

std::int64_t cost_of_going(const problem& given, portion_row p) {
  const auto card = given.view.card(p);
  if (given.settings.group.minimised == minimise::pods)
    return priority_weight(card);
  // Pods only where the work is the same.
  constexpr std::int64_t pods_in_a_second = std::int64_t{1} << 16;
  const auto work = work_lost(given.view, p, given.settings.now);
  return std::min(work, std::numeric_limits<std::int64_t>::max() / pods_in_a_second - 1)
           * pods_in_a_second
         + std::min<std::int64_t>(card.pods, pods_in_a_second - 1);
}

} // namespace

std::optional<node_victims> least_victims_on_node(const problem& given, domain_room& room,
                                                  std::span<const portion_row> candidates,
                                                  std::size_t most_steps) {
  room.open(nobody_goes);
  return least_victims_who_give(given, room.node(0), lacking_on(given, room), candidates,
                                most_steps);
}

std::optional<node_victims> least_victims_who_give(const problem& given, node_row n,
                                                   amounts lacking,
                                                   std::span<const portion_row> candidates,
                                                   std::size_t most_steps) {
  const auto& view = given.view;
  std::vector<std::size_t> short_of;
  std::vector<std::int64_t> needs;
  for (std::size_t c = 0; c < lacking.size(); ++c)
    if (lacking[c] > 0) {
      short_of.push_back(c);
      needs.push_back(lacking[c]);
    }
  // Of those that are alike otherwise whoever loses more work stays.
  std::vector<portion_row> in_order(candidates.begin(), candidates.end());
  std::ranges::stable_sort(in_order, [&](portion_row a, portion_row b) {
    const auto one = view.card(a);
    const auto other = view.card(b);
    return std::tuple{-std::int64_t{one.priority}, !one.group, -std::int64_t{one.pods},
                      -work_lost(view, a, given.settings.now)}
           < std::tuple{-std::int64_t{other.priority}, !other.group, -std::int64_t{other.pods},
                        -work_lost(view, b, given.settings.now)};
  });
  std::vector<cover_candidate> all;
  std::vector<portion_row> who;
  wide_int costs = 0;
  std::vector<wide_int> given_in_all(needs.size());
  for (const auto portion : in_order) {
    cover_candidate one{cost_of_going(given, portion), std::vector<std::int64_t>(needs.size())};
    for (const auto p : view.pods_of(portion))
      if (view.node_of(p) == n)
        for (std::size_t r = 0; r < needs.size(); ++r)
          one.gives[r] += view.requests(p)[short_of[r]];
    if (std::ranges::all_of(one.gives, [](std::int64_t amount) { return amount <= 0; }))
      continue; // whose going is of no use
    costs += one.cost;
    for (std::size_t r = 0; r < needs.size(); ++r)
      given_in_all[r] += one.gives[r] = std::clamp<std::int64_t>(one.gives[r], 0, needs[r]);
    all.push_back(std::move(one));
    who.push_back(portion);
  }
  if (std::max(costs, needs.empty() ? 0 : *std::ranges::max_element(given_in_all)) > most_in_all)
    return std::nullopt;
  const auto chosen = choose_least(all, needs, most_steps);
  if (!chosen)
    return std::nullopt;
  node_victims found;
  for (const auto at : chosen->who)
    found.portions.push_back(who[at]);
  std::ranges::sort(found.portions,
                    [&](portion_row a, portion_row b) { return view.more_important(a, b); });
  if (given.settings.group.minimised == minimise::pods) {
    found.proved = chosen->proved;
    found.bound = chosen->bound;
  }
  found.steps = chosen->steps;
  return found;
}

} // namespace reprieve
