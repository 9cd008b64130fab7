#include "preemption/policies/queues/queue_shares.hpp"

#include "preemption/problem/apportion.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

namespace reprieve {

namespace {

/// Far above what admission allows, and low enough for the products below.
constexpr std::int64_t largest_weight = std::int64_t{1} << 31U;

constexpr std::int64_t unlimited = std::numeric_limits<std::int64_t>::max();

wide_int sum_of_least(std::span<const share_bounds> among) {
  return std::accumulate(among.begin(), among.end(), wide_int{0},
                         [](wide_int sum, const share_bounds& one) {
                           return sum + std::max<std::int64_t>(one.least, 0);
                         });
}

bool suffices_for_all(std::int64_t total, std::span<const share_bounds> among) {
  wide_int all = 0;
  for (const auto& one : among)
    all += std::max<std::int64_t>(one.weight > 0 ? one.most : one.least, 0);
  return all <= total;
}

/// A water level, `amount / weight`, at which one of the queues begins to rise, or stops.
struct turning_point {
  std::size_t who = 0;
  std::int64_t amount = 0;
  std::int64_t weight = 1;
  bool stops = false;

  bool operator<(const turning_point& other) const {
    const auto mine = static_cast<wide_int>(amount) * other.weight;
    const auto others = static_cast<wide_int>(other.amount) * weight;
    return mine != others ? mine < others : stops < other.stops;
  }
};

std::vector<turning_point> turning_points(std::span<const share_bounds> among) {
  std::vector<turning_point> points;
  for (std::size_t i = 0; i < among.size(); ++i) {
    const auto weight = std::clamp<std::int64_t>(among[i].weight, 0, largest_weight);
    if (weight == 0)
      continue;
    points.push_back({i, among[i].least, weight, false});
    points.push_back({i, among[i].most, weight, true});
  }
  std::ranges::sort(points, std::less<>{});
  return points;
}

} // namespace

std::vector<std::int64_t> fill_by_weight(std::int64_t total, std::span<const share_bounds> among,
                                         share_rounding rounding) {
  const auto divide = rounding == share_rounding::exact ? apportion : apportion_upwards;
  std::vector<std::int64_t> shares;
  shares.reserve(among.size());
  for (const auto& one : among)
    shares.push_back(std::max<std::int64_t>(one.least, 0));
  wide_int settled = sum_of_least(among); // what those have who do not rise with the water
  if (settled > total)
    return divide(total, shares);

  std::vector<std::int64_t> rising(among.size()); // the weights of those who do
  wide_int weights = 0;
  for (const auto& point : turning_points(among)) {
    // With the water at this point everything is given away: it stands here or below.
    if (weights * point.amount >= (total - settled) * point.weight)
      break;
    auto& share = shares[point.who];
    if (point.stops) {
      share = point.amount;
      settled += share;
      weights -= point.weight;
      rising[point.who] = 0;
    } else {
      settled -= share;
      weights += point.weight;
      rising[point.who] = point.weight;
    }
  }
  // The level is within the bounds of all who rise. These are whole, so rounding keeps to them.
  const auto by_weight = divide(total - settled, rising);
  for (std::size_t i = 0; i < among.size(); ++i)
    if (rising[i] > 0)
      shares[i] = by_weight[i];
  return shares;
}

std::vector<std::int64_t> fill_in_units(std::int64_t total, std::span<const share_bounds> among,
                                        std::int64_t unit, share_rounding rounding) {
  if (unit <= 1 || suffices_for_all(total, among))
    return fill_by_weight(total, among, rounding);
  const auto units = [&](std::int64_t amount) {
    return amount / unit + (amount % unit > 0 ? 1 : 0);
  };
  std::vector<share_bounds> whole;
  whole.reserve(among.size());
  for (const auto& one : among)
    whole.push_back({one.weight, units(std::max<std::int64_t>(one.least, 0)),
                     units(std::max<std::int64_t>(one.most, 0))});
  auto shares = fill_by_weight(total / unit, whole, rounding);
  for (std::size_t i = 0; i < shares.size(); ++i)
    shares[i] = shares[i] > among[i].most / unit ? among[i].most : shares[i] * unit;
  return shares;
}

namespace {

/// What is left of `total` completes those that are less than a unit below their most, the least
/// lacking first.
void complete_parts(std::span<std::int64_t> shares, std::int64_t total,
                    std::span<const share_bounds> among, std::int64_t unit) {
  auto left = std::accumulate(shares.begin(), shares.end(), total, std::minus<>{});
  std::vector<std::pair<std::int64_t, std::size_t>> parts;
  for (std::size_t i = 0; i < shares.size(); ++i)
    if (const auto lacking = among[i].most - shares[i];
        among[i].weight > 0 && lacking > 0 && lacking < unit)
      parts.emplace_back(lacking, i);
  std::ranges::sort(parts);
  for (const auto& [lacking, i] : parts) {
    if (lacking > left)
      return;
    shares[i] += lacking;
    left -= lacking;
  }
}

/// How a division of shares counts.
struct division_rules {
  std::int64_t unit = 1;
  /// What pods keep, rather than what is deserved: guarantees count no further than the demand that
  /// caps a queue, and what is less than a unit is left over.
  bool kept = false;
  share_rounding rounding = share_rounding::exact;
};

class share_division {
public:
  share_division(const queue_tree& tree, std::string_view resource,
                 std::span<const std::int64_t> demand, const division_rules& rules)
      : tree_(tree), resource_(resource), rules_(rules), bounds_(tree.vertices.size()),
        demand_(demand.begin(), demand.end()) {
    shares_.deserved.resize(tree.vertices.size());
    for (auto v = tree.vertices.size(); v-- > 0;)
      find_bounds(v);
  }

  queue_shares divide(std::int64_t capacity) && {
    give_to(tree_.top, "", std::max<std::int64_t>(capacity, 0));
    for (std::size_t v = 0; v < tree_.vertices.size(); ++v)
      if (!tree_.vertices[v].leaf())
        give_to(tree_.vertices[v].children, tree_.vertices[v].spec.name, shares_.deserved[v]);
    return std::move(shares_);
  }

private:
  /// Children have theirs already.
  void find_bounds(std::size_t v) {
    const auto& [spec, parent, children, own_pods] = tree_.vertices[v];
    const auto limited = spec.limit.find(resource_);
    const auto limit =
      limited == spec.limit.end() ? unlimited : std::max<std::int64_t>(limited->second, 0);
    auto least = std::max<std::int64_t>(amount_of(spec.guaranteed, resource_), 0);
    auto most = limit;
    if (!children.empty()) {
      wide_int guaranteed_below = 0;
      wide_int most_below = 0;
      wide_int demand_below = 0;
      for (const auto child : children) {
        guaranteed_below += bounds_[child].least;
        most_below += bounds_[child].most;
        demand_below += demand_[child];
      }
      least = std::max(least, narrowed(guaranteed_below));
      most = std::min(most, narrowed(most_below));
      demand_[v] = narrowed(demand_below);
    }
    if (spec.cap_by_demand) {
      most = std::min(most, demand_[v]);
      if (rules_.kept)
        least = std::min(least, demand_[v]);
    }
    least = std::min(least, limit);
    most = spec.weight > 0 ? std::max(most, least) : least;
    bounds_[v] = {spec.weight, least, most};
  }

  void give_to(std::span<const std::size_t> siblings, const std::string& parent,
               std::int64_t amount) {
    std::vector<share_bounds> among;
    among.reserve(siblings.size());
    for (const auto v : siblings)
      among.push_back(bounds_[v]);
    if (const auto guaranteed = sum_of_least(among); guaranteed > amount)
      shares_.cuts.push_back({parent, std::string{resource_}, narrowed(guaranteed), amount});
    auto given = fill_in_units(amount, among, rules_.unit, rules_.rounding);
    if (!rules_.kept)
      complete_parts(given, amount, among, rules_.unit);
    for (std::size_t i = 0; i < siblings.size(); ++i)
      shares_.deserved[siblings[i]] = given[i];
  }

  const queue_tree& tree_;
  std::string_view resource_;
  division_rules rules_;
  std::vector<share_bounds> bounds_;
  std::vector<std::int64_t> demand_;
  queue_shares shares_;
};

} // namespace

queue_shares deserved_shares(const queue_tree& tree, std::string_view resource,
                             std::int64_t capacity, std::span<const std::int64_t> demand,
                             std::int64_t unit) {
  return share_division{tree, resource, demand, {.unit = unit}}.divide(capacity);
}

std::vector<std::int64_t> kept_shares(const queue_tree& tree, std::string_view resource,
                                      std::int64_t capacity, std::span<const std::int64_t> used,
                                      std::int64_t unit, share_rounding rounding) {
  const auto divide = [&](std::int64_t by) {
    return share_division{tree, resource, used, {.unit = by, .kept = true, .rounding = rounding}}
      .divide(capacity)
      .deserved;
  };
  auto kept = divide(unit);
  if (unit > 1) {
    // Pods that use parts of a unit do not go because units were rounded.
    const auto exactly = divide(1);
    for (std::size_t v = 0; v < kept.size(); ++v)
      kept[v] = std::max(kept[v], exactly[v]);
  }
  return kept;
}

} // namespace reprieve
