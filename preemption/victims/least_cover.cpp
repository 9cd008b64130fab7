#include "preemption/victims/least_cover.hpp"

#include "preemption/victims/cover_relaxation.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

namespace reprieve {

namespace {

/// Sums of that many products of doubles are off by less than this part of their sizes.
constexpr double rounding = 1e-12;
/// What is as near to a whole number as this is taken for it.
constexpr double nearly_whole = 1e-7;

} // namespace

/// One search, depth first: of two branches the one with more of an item is gone through first.
class cover_search {
public:
  cover_search(const least_cover& of, std::int64_t limit, std::size_t& steps, bool first_will_do)
      : of_(of), items_(of.items_), limit_(limit), steps_(steps), first_will_do_(first_will_do) {}

  least_cover::answer run(const cover_counts& most) {
    descend(relaxation(most), cover_counts(items_.size()), most);
    return {std::move(best_), !gave_up_, std::min(lowest_open_, limit_ + of_.cost_step_)};
  }

private:
  /// Costs and needs are brought to sizes about one.
  cover_relaxation relaxation(const cover_counts& most) {
    std::vector<double> counts;
    for (std::size_t i = 0; i < items_.size(); ++i) {
      cost_unit_ = std::max(cost_unit_, static_cast<double>(items_[i].cost));
      counts.push_back(static_cast<double>(most[i]));
    }
    for (const auto& item : items_)
      costs_.push_back(static_cast<double>(item.cost) / cost_unit_);
    for (std::size_t r = 0; r < of_.needs_.size(); ++r) {
      const auto size = std::abs(static_cast<double>(of_.needs_[r]));
      needs_.push_back(of_.needs_[r] < 0 ? -1 : 1);
      auto& row = gives_.emplace_back();
      for (const auto& item : items_)
        row.push_back(static_cast<double>(item.gives[r]) / size);
    }
    return {costs_, gives_, needs_, counts};
  }

  void descend(cover_relaxation relaxed, cover_counts least, cover_counts most) {
    const bool solved = solve(relaxed, least, most);
    const double bound = bound_by(relaxed, least, most);
    const auto costs = rounded_up(bound);
    // With a cap it can't be told so simply, and is: who comes within its limit does so by a whole
    // amount, which is far beyond what rounding may hide.
    if (costs > limit_ || (!solved && (is_capped() || !of_.could_cover(least, most))))
      return;
    if (steps_ == 0) {
      gave_up_ = true;
      lowest_open_ = std::min(lowest_open_, costs);
      return;
    }
    --steps_;
    if (narrow(bound, least, most)) {
      if (!of_.could_cover(least, most))
        return;
      solve(relaxed, least, most);
    }
    take_rounded(relaxed, least, most);
    if (is_over() || costs > limit_)
      return;
    const auto at = item_to_branch_on(relaxed, least, most);
    if (at == items_.size())
      return;
    const auto more = std::clamp(rounded_up_amount(relaxed, at), least[at] + 1, most[at]);
    auto with = least;
    with[at] = more;
    descend(relaxed, std::move(with), most);
    if (is_over())
      return;
    most[at] = more - 1;
    descend(std::move(relaxed), std::move(least), std::move(most));
  }

  static bool solve(cover_relaxation& relaxed, const cover_counts& least,
                    const cover_counts& most) {
    for (std::size_t i = 0; i < least.size(); ++i)
      relaxed.set_bounds(i, static_cast<double>(least[i]), static_cast<double>(most[i]));
    return relaxed.solve();
  }

  /// What anything within the bounds costs at these prices at least. Notes what one more of each
  /// item adds to that.
  double bound_by(const cover_relaxation& relaxed, const cover_counts& least,
                  const cover_counts& most) {
    adds_ = costs_;
    double bound = 0;
    double sizes = 0;
    for (std::size_t r = 0; r < gives_.size(); ++r) {
      const double price = relaxed.price(r);
      if (price == 0)
        continue;
      bound += price * needs_[r];
      sizes += price;
      for (std::size_t i = 0; i < adds_.size(); ++i) {
        adds_[i] -= price * gives_[r][i];
        if (needs_[r] < 0)
          sizes += price * std::abs(gives_[r][i]) * static_cast<double>(most[i]);
      }
    }
    for (std::size_t i = 0; i < adds_.size(); ++i) {
      const double part = adds_[i] * static_cast<double>(adds_[i] > 0 ? least[i] : most[i]);
      bound += part;
      sizes += std::abs(part) + costs_[i];
    }
    return bound - rounding * sizes;
  }

  /// To a cost that there can be.
  std::int64_t rounded_up(double bound) const {
    const double steps = std::ceil(bound * cost_unit_ / static_cast<double>(of_.cost_step_));
    return steps <= 0 ? 0 : static_cast<std::int64_t>(steps) * of_.cost_step_;
  }

  static std::int64_t rounded_up_amount(const cover_relaxation& relaxed, std::size_t item) {
    return static_cast<std::int64_t>(std::ceil(relaxed.amount(item) - nearly_whole));
  }

  /// Narrows the bounds to what can cost no more than the limit. Whether that was less.
  bool narrow(double bound, cover_counts& least, cover_counts& most) const {
    const double left = static_cast<double>(limit_) / cost_unit_ - bound;
    bool changed = false;
    for (std::size_t i = 0; i < adds_.size(); ++i) {
      if (most[i] == least[i] || adds_[i] == 0)
        continue;
      const double units = std::floor(left / std::abs(adds_[i]) * (1 + rounding) + rounding);
      if (units >= static_cast<double>(most[i] - least[i]))
        continue;
      const auto open = std::max<std::int64_t>(static_cast<std::int64_t>(units), 0);
      if (adds_[i] > 0)
        most[i] = least[i] + open;
      else
        least[i] = most[i] - open;
      changed = true;
    }
    return changed;
  }

  /// The relaxed amounts rounded up, without what is not needed then.
  void take_rounded(const cover_relaxation& relaxed, const cover_counts& least,
                    const cover_counts& most) {
    cover_counts taken(items_.size());
    for (std::size_t i = 0; i < taken.size(); ++i)
      taken[i] = std::clamp(rounded_up_amount(relaxed, i), least[i], most[i]);
    if (!of_.covers(taken))
      return;
    of_.trim(taken);
    const auto cost = of_.cost_of(taken);
    if (cost > limit_ || !may_be(taken))
      return;
    limit_ = cost - of_.cost_step_;
    best_ = std::move(taken);
  }

  bool may_be(const cover_counts& taken) {
    if (!of_.may_be_)
      return true;
    const auto [at, fresh] = judged_.try_emplace(taken, false);
    if (fresh)
      at->second = of_.may_be_(taken);
    return at->second;
  }

  bool is_capped() const {
    return std::ranges::any_of(needs_, [](double sign) { return sign < 0; });
  }

  bool is_over() const {
    return first_will_do_ && best_.has_value();
  }

  /// The one whose relaxed amount is furthest from a whole number, dear ones above all; else one
  /// that is still open.
  std::size_t item_to_branch_on(const cover_relaxation& relaxed, const cover_counts& least,
                                const cover_counts& most) const {
    auto best = items_.size();
    double best_worth = -1;
    for (std::size_t i = 0; i < items_.size(); ++i) {
      if (least[i] == most[i])
        continue;
      const double part = std::abs(relaxed.amount(i) - std::round(relaxed.amount(i)));
      const double worth = part < nearly_whole ? 0 : part * costs_[i] + nearly_whole;
      if (worth > best_worth) {
        best_worth = worth;
        best = i;
      }
    }
    return best;
  }

  const least_cover& of_;
  const std::vector<cover_item>& items_;
  std::int64_t limit_; ///< to the cost of what is still looked for
  std::size_t& steps_;
  bool first_will_do_;
  double cost_unit_ = 1;
  std::vector<double> costs_;              ///< by item
  std::vector<std::vector<double>> gives_; ///< by need, by item
  std::vector<double> needs_;              ///< 1, or -1 for a cap
  std::vector<double> adds_;               ///< by item, from the last bound
  std::optional<cover_counts> best_;
  std::map<cover_counts, bool> judged_;
  bool gave_up_ = false;
  std::int64_t lowest_open_ = least_cover::any_cost;
};

least_cover::least_cover(std::vector<cover_item> items, std::vector<std::int64_t> needs)
    : items_(std::move(items)) {
  for (const auto needed : needs)
    if (needed > 0)
      needs_.push_back(needed);
  std::int64_t common = 0;
  for (auto& item : items_) {
    // What is given beyond the need helps nobody, and without it the relaxation comes closer.
    std::vector<std::int64_t> gives;
    for (std::size_t r = 0; r < needs.size(); ++r)
      if (needs[r] > 0)
        gives.push_back(std::min(item.gives[r], needs[r]));
    item.gives = std::move(gives);
    common = std::gcd(common, item.cost);
    dearest_first_.push_back(dearest_first_.size());
  }
  cost_step_ = std::max<std::int64_t>(common, 1);
  std::ranges::stable_sort(
    dearest_first_, [&](std::size_t a, std::size_t b) { return items_[a].cost > items_[b].cost; });
}

void least_cover::sharpen(std::size_t& steps) {
  if (items_.empty() || items_[dearest_first_.back()].cost <= 0)
    return;
  // Each counts as often as it costs the least cost: an item for several pods counts as several.
  const auto least = items_[dearest_first_.back()].cost;
  auto counted = items_;
  for (auto& item : counted)
    item.cost /= least;
  const auto count = least_cover{counted, needs_}.cheapest(all(), any_cost, steps).bound;
  if (count <= 0 || count >= any_cost)
    return;
  needs_.push_back(count);
  for (std::size_t i = 0; i < items_.size(); ++i)
    items_[i].gives.push_back(std::min(counted[i].cost, count));
}

void least_cover::cap(const std::vector<std::int64_t>& each, std::int64_t most) {
  needs_.push_back(-most);
  for (std::size_t i = 0; i < items_.size(); ++i)
    items_[i].gives.push_back(-each[i]);
}

least_cover::answer least_cover::cheapest(const cover_counts& most, std::int64_t limit,
                                          std::size_t& steps) const {
  return cover_search{*this, limit, steps, false}.run(most);
}

least_cover::answer least_cover::any(const cover_counts& most, std::int64_t limit,
                                     std::size_t& steps) const {
  return cover_search{*this, limit, steps, true}.run(most);
}

cover_counts least_cover::all() const {
  cover_counts counts;
  for (const auto& item : items_)
    counts.push_back(item.count);
  return counts;
}

bool least_cover::covers(const cover_counts& taken) const {
  for (std::size_t r = 0; r < needs_.size(); ++r) {
    auto left = needs_[r];
    for (std::size_t i = 0; i < items_.size(); ++i)
      left -= items_[i].gives[r] * taken[i];
    if (left > 0)
      return false;
  }
  return true;
}

bool least_cover::could_cover(const cover_counts& least, const cover_counts& most) const {
  for (std::size_t r = 0; r < needs_.size(); ++r) {
    const auto& taken = needs_[r] < 0 ? least : most;
    auto left = needs_[r];
    for (std::size_t i = 0; i < items_.size(); ++i)
      left -= items_[i].gives[r] * taken[i];
    if (left > 0)
      return false;
  }
  return true;
}

std::int64_t least_cover::cost_of(const cover_counts& taken) const {
  std::int64_t cost = 0;
  for (std::size_t i = 0; i < items_.size(); ++i)
    cost += items_[i].cost * taken[i];
  return cost;
}

void least_cover::trim(cover_counts& taken) const {
  std::vector<std::int64_t> beyond;
  for (std::size_t r = 0; r < needs_.size(); ++r) {
    auto given = -needs_[r];
    for (std::size_t i = 0; i < items_.size(); ++i)
      given += items_[i].gives[r] * taken[i];
    beyond.push_back(given);
  }
  for (const auto i : dearest_first_) {
    const auto& gives = items_[i].gives;
    auto back = taken[i];
    for (std::size_t r = 0; r < gives.size(); ++r)
      if (gives[r] > 0)
        back = std::min(back, beyond[r] / gives[r]);
    taken[i] -= back;
    for (std::size_t r = 0; r < gives.size(); ++r)
      beyond[r] -= gives[r] * back;
  }
}

} // namespace reprieve
