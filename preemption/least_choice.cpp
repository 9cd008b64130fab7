#include "preemption/least_choice.hpp"

#include "preemption/least_cover.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace reprieve {

namespace {

/// Closer bounds may take that part of the steps that the search may take.
constexpr std::size_t part_to_sharpen = 8;

/// Candidates who are alike; among those the least important go.
struct kinds {
  std::vector<cover_item> items;
  std::vector<std::vector<std::size_t>> who; ///< by item, the least important first
  /// By candidate: its item, and how many of the item go if it does.
  std::vector<std::pair<std::size_t, std::int64_t>> of;
};

kinds kinds_of(std::span<const cover_candidate> candidates) {
  kinds found;
  found.of.resize(candidates.size());
  std::map<std::pair<std::int64_t, std::vector<std::int64_t>>, std::size_t> known;
  for (auto i = candidates.size(); i-- > 0;) {
    const auto& [cost, gives] = candidates[i];
    const auto [at, fresh] = known.try_emplace({cost, gives}, found.items.size());
    if (fresh) {
      found.items.push_back({cost, 0, gives});
      found.who.emplace_back();
    }
    found.who[at->second].push_back(i);
    found.of[i] = {at->second, ++found.items[at->second].count};
  }
  return found;
}

} // namespace

std::optional<least_choice> choose_least(std::span<const cover_candidate> candidates,
                                         const std::vector<std::int64_t>& needs,
                                         std::size_t most_steps) {
  const auto alike = kinds_of(candidates);
  least_cover cover{alike.items, needs};
  auto most = cover.all();
  if (!cover.covers(most))
    return std::nullopt;
  auto to_sharpen = most_steps / part_to_sharpen;
  cover.sharpen(to_sharpen);
  auto steps = most_steps;
  auto found = cover.cheapest(most, least_cover::any_cost, steps);
  if (!found.taken)
    return std::nullopt;
  auto taken = *std::move(found.taken);
  least_choice chosen{{}, found.proved, found.bound, 0};
  const auto cost = cover.cost_of(taken);
  // The most important one who goes stays if others can go instead, and so on.
  for (const auto& [item, rank] : alike.of) {
    if (most[item] < rank)
      continue;
    if (taken[item] < rank) {
      most[item] = rank - 1;
      continue;
    }
    if (steps == 0) {
      chosen.proved = false;
      break;
    }
    --steps;
    auto without = most;
    without[item] = rank - 1;
    auto other = cover.any(without, cost, steps);
    chosen.proved = chosen.proved && (other.taken || other.proved);
    if (!other.taken)
      continue;
    taken = *std::move(other.taken);
    most = std::move(without);
  }
  for (std::size_t item = 0; item < taken.size(); ++item)
    chosen.who.insert(chosen.who.end(), alike.who[item].begin(),
                      alike.who[item].begin() + taken[item]);
  std::ranges::sort(chosen.who);
  chosen.steps = most_steps - steps;
  return chosen;
}

} // namespace reprieve
