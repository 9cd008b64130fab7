#include "preemption/seating.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

namespace reprieve {

namespace {

auto by_name(const cluster_view& view) {
  return [&view](node_row n) { return view.node_name(n); };
}

} // namespace

std::set<node_row> nodes_of(const seating& found) {
  std::set<node_row> nodes;
  for (const auto& one : found.seats)
    nodes.insert(one.node);
  return nodes;
}

std::size_t first_step_below(const cluster_view& view, node_row n, std::int32_t priority) {
  return step_at(view, n, std::int64_t{priority} - 1);
}

std::size_t step_at(const cluster_view& view, node_row n, std::int64_t level) {
  const auto steps = view.steps(n);
  const auto opened = std::ranges::partition_point(
    steps, [&](const priority_step& step) { return step.priority > level; });
  return static_cast<std::size_t>(opened - steps.begin());
}

std::vector<opening> openings_of(const cluster_view& view, const domain& where,
                                 std::int32_t priority) {
  std::vector<node_row> nodes{where.nodes.begin(), where.nodes.end()};
  std::ranges::sort(nodes, {}, by_name(view));
  std::vector<opening> openings;
  for (const auto n : nodes) {
    const auto steps = view.steps(n);
    openings.push_back({nobody_goes, n, steps.size()});
    for (auto s = first_step_below(view, n, priority); s < steps.size(); ++s)
      openings.push_back({steps[s].priority, n, s});
  }
  std::ranges::stable_sort(openings, {}, &opening::level);
  return openings;
}

bool seater::seat_by_level(trial& tried, std::span<const opening> openings, seating& found) const {
  for (const auto& [g, dominant] : turns_) {
    const auto& group = asked_.groups[g];
    for (const auto& [level, n, step] : openings) {
      if (found.placed[g] == group.needed)
        break;
      if (!filter_.suits(g, n))
        continue;
      while (found.placed[g] < group.needed && tried.fits_at(n, step, group.request)) {
        tried.open(n, step);
        seat_on(tried, n, g, found);
      }
    }
    if (found.placed[g] < group.needed) {
      found.lacking = g;
      return false;
    }
  }
  return true;
}

bool seater::seat_packed(trial& tried, std::span<const node_row> nodes, std::int64_t level,
                         seating& found) const {
  struct place {
    std::int64_t room;
    std::string_view name;
    node_row node;
    std::size_t step;
  };
  for (const auto& [g, dominant] : turns_) {
    const auto& group = asked_.groups[g];
    std::vector<place> places;
    for (const auto n : nodes)
      if (const auto step = step_at(view_, n, level);
          filter_.suits(g, n) && tried.fits_at(n, step, group.request))
        places.push_back({tried.room_at(n, step)[dominant], view_.node_name(n), n, step});
    std::ranges::sort(places, {}, [](const place& p) { return std::pair{p.room, p.name}; });
    for (const auto& [room, name, n, step] : places)
      while (found.placed[g] < group.needed && tried.fits_at(n, step, group.request)) {
        tried.open(n, step);
        seat_on(tried, n, g, found);
      }
    if (found.placed[g] < group.needed) {
      found.lacking = g;
      return false;
    }
  }
  return true;
}

bool seater::seat_needed(trial& tried, std::span<const node_row> nodes, seating& found) const {
  for (const auto& [g, dominant] : turns_) {
    seat_in_room(tried, nodes, g, asked_.groups[g].needed, found);
    if (found.placed[g] < asked_.groups[g].needed)
      return false;
  }
  return true;
}

void seater::seat_the_rest(trial& tried, std::span<const node_row> nodes, seating& found) const {
  for (const auto& [g, dominant] : turns_)
    seat_in_room(tried, nodes, g, asked_.groups[g].wanted->pods.size(), found);
}

void seater::seat_in_room(trial& tried, std::span<const node_row> nodes, std::size_t group,
                          std::size_t most, seating& found) const {
  if (found.placed[group] >= most)
    return;
  const auto& request = asked_.groups[group].request;
  std::vector<node_row> roomy;
  std::ranges::copy_if(nodes, std::back_inserter(roomy), [&](node_row n) {
    return filter_.suits(group, n) && tried.fits(n, request);
  });
  // Each of these takes at least one pod, so no more of them are looked at than pods are left.
  const auto enough = std::min(roomy.size(), most - found.placed[group]);
  std::ranges::partial_sort(roomy, roomy.begin() + static_cast<std::ptrdiff_t>(enough), {},
                            by_name(view_));
  for (const auto n : std::span{roomy}.first(enough))
    while (found.placed[group] < most && tried.fits(n, request))
      seat_on(tried, n, group, found);
}

void seater::seat_on(trial& tried, node_row n, std::size_t group, seating& found) const {
  tried.claim(n, asked_.groups[group].request);
  found.seats.push_back({group, found.placed[group]++, n});
}

} // namespace reprieve
