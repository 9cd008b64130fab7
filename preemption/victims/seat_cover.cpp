#include "preemption/victims/seat_cover.hpp"

#include "preemption/pipeline/scoring.hpp"
#include "preemption/victims/node_cover.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace reprieve {

namespace {

constexpr std::size_t most_nodes = 16;
constexpr std::size_t most_seats = 16;

/// The cost of some who go; lexicographic, and so is its sum.
struct total_cost {
  wide_int first = 0;
  wide_int second = 0;

  auto operator<=>(const total_cost&) const = default;
};

total_cost sum_of(const total_cost& a, const total_cost& b) {
  return {a.first + b.first, a.second + b.second};
}

/// Who goes, and for what.
struct bundle {
  std::vector<portion_row> portions;
  total_cost cost;
  bool proved = true;
};

class seat_market {
public:
  seat_market(const problem& given, domain_room& room, std::size_t most_steps)
      : given_(given), room_(room), most_steps_(most_steps) {}

  /// The cheapest for all groups; nothing where these candidates are not enough.
  std::optional<bundle> cheapest(std::span<const portion_row> candidates) {
    bundle all;
    for (std::size_t g = 0; g < given_.asked.groups.size(); ++g) {
      auto some = cheapest_for(g, candidates);
      if (!some)
        return std::nullopt;
      add(all, *some);
    }
    std::ranges::sort(
      all.portions, [&](portion_row a, portion_row b) { return given_.view.more_important(a, b); });
    return all;
  }

private:
  static void add(bundle& to, const bundle& more) {
    to.portions.insert(to.portions.end(), more.portions.begin(), more.portions.end());
    to.cost = sum_of(to.cost, more.cost);
    to.proved = to.proved && more.proved;
  }

  /// By how many seats there are on the nodes so far, the cheapest way to them; node after node.
  std::optional<bundle> cheapest_for(std::size_t group, std::span<const portion_row> candidates) {
    const auto needed = given_.asked.groups[group].needed;
    std::vector<std::optional<bundle>> ways(needed + 1);
    ways[0] = bundle{};
    bool proved = true;
    for (std::size_t i = 0; i < room_.size(); ++i) {
      if (room_.group_at(i) != group)
        continue;
      auto next = ways;
      const auto here = seats_here(i, group, candidates);
      for (std::size_t before = 0; before <= needed; ++before)
        for (std::size_t seats = 1; ways[before] && seats < here.size(); ++seats) {
          if (!here[seats]) {
            proved = false;
            continue;
          }
          auto& best = next[std::min(before + seats, needed)];
          if (best && best->cost <= sum_of(ways[before]->cost, here[seats]->cost))
            continue;
          best = ways[before];
          add(*best, *here[seats]);
        }
      for (const auto& one : here)
        proved = proved && one && one->proved;
      ways = std::move(next);
    }
    if (auto& all = ways[needed])
      all->proved = proved;
    return ways[needed];
  }

  /// By number of seats, as many as there can be, the cheapest that make these; nothing where none
  /// was found in time.
  std::vector<std::optional<bundle>> seats_here(std::size_t position, std::size_t group,
                                                std::span<const portion_row> candidates) {
    const auto& view = given_.view;
    const auto n = room_.node(position);
    const auto& request = given_.asked.groups[group].request;
    std::vector<portion_row> there;
    std::vector<std::int64_t> most(room_.room(position).begin(), room_.room(position).end());
    for (const auto portion : candidates)
      for (const auto p : view.pods_of(portion))
        if (view.node_of(p) == n) {
          if (there.empty() || there.back() != portion)
            there.push_back(portion);
          const auto held = view.requests(p);
          for (std::size_t c = 0; c < most.size(); ++c)
            most[c] += held[c];
        }
    const auto free = room_.seats_in(position, room_.room(position));
    const auto in_all = room_.seats_in(position, most);
    std::vector<std::optional<bundle>> found(static_cast<std::size_t>(in_all) + 1);
    std::vector<std::int64_t> lacking(most.size());
    for (std::int64_t seats = 0; seats <= in_all; ++seats) {
      auto& one = found[static_cast<std::size_t>(seats)];
      if (seats <= free) {
        one = bundle{};
        continue;
      }
      for (std::size_t c = 0; c < lacking.size(); ++c)
        lacking[c] = request[c] > 0
                       ? std::max<std::int64_t>(request[c] * seats - room_.room(position)[c], 0)
                       : 0;
      const auto least = least_victims_who_give(given_, n, lacking, there, most_steps_, {}, false);
      if (!least || least->portions.empty())
        continue;
      one = bundle{least->portions, {}, least->proved};
      for (const auto portion : least->portions) {
        const auto cost = cost_of_going_of(given_, portion);
        one->cost = sum_of(one->cost, {cost.first, cost.second});
      }
    }
    return found;
  }

  const problem& given_;
  domain_room& room_;
  std::size_t most_steps_;
};

} // namespace

bool may_share_out_seats(const problem& given, const domain_room& room) {
  std::size_t seats = 0;
  for (const auto& group : given.asked.groups)
    seats += group.needed;
  return room.counts_seats() && room.size() <= most_nodes && seats <= most_seats;
}

std::optional<seat_victims> least_victims_for_seats(const problem& given, domain_room& room,
                                                    std::span<const portion_row> candidates,
                                                    std::span<const portion_row> gone,
                                                    std::size_t most_steps) {
  const auto& view = given.view;
  std::vector<portion_row> each_on_one_node;
  bool all_are = true;
  for (const auto p : candidates) {
    const auto pods = view.pods_of(p);
    const bool is = std::ranges::all_of(
      pods, [&](pod_row one) { return view.node_of(one) == view.node_of(*pods.begin()); });
    all_are = all_are && is;
    if (is)
      each_on_one_node.push_back(p);
  }
  room.open(nobody_goes);
  for (const auto p : gone)
    room.vacate(p);
  seat_market market{given, room, most_steps};
  auto best = market.cheapest(each_on_one_node);
  if (!best)
    return std::nullopt;
  const auto cost = best->cost.first;
  const bool proved = best->proved && all_are;
  // Of those that cost the same the one whose most important is the least so.
  std::vector<std::size_t> begins; // of those who are equally important
  for (std::size_t i = 0; i < each_on_one_node.size(); ++i)
    if (i == 0
        || !are_as_important(view.card(each_on_one_node[i - 1]), view.card(each_on_one_node[i])))
      begins.push_back(i);
  for (std::size_t low = 0, high = begins.empty() ? 0 : begins.size() - 1; low < high;) {
    const auto spared = (low + high + 1) / 2;
    auto others =
      market.cheapest(std::span<const portion_row>{each_on_one_node}.subspan(begins[spared]));
    if (others && others->cost.first == cost) {
      best = std::move(others);
      low = spared;
    } else {
      high = spared - 1;
    }
  }
  seat_victims found{std::move(best->portions), proved, 0};
  if (proved && gone.empty() && given.settings.group.minimised == minimise::pods)
    found.bound =
      static_cast<std::int64_t>(std::min<wide_int>(cost, std::numeric_limits<std::int64_t>::max()));
  found.portions.insert(found.portions.end(), gone.begin(), gone.end());
  std::ranges::sort(found.portions,
                    [&](portion_row a, portion_row b) { return view.more_important(a, b); });
  room.open(nobody_goes);
  return found;
}

} // namespace reprieve
