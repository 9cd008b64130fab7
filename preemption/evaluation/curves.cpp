#include "preemption/evaluation/curves.hpp"

#include "preemption/room/seating.hpp"

#include <algorithm>
#include <map>

namespace reprieve {

namespace {

std::int64_t seats_in(amounts room, amounts request) {
  auto most = std::numeric_limits<std::int64_t>::max();
  for (std::size_t c = 0; c < request.size(); ++c)
    if (request[c] > 0)
      most = std::min(most, std::max<std::int64_t>(room[c], 0) / request[c]);
  return most;
}

/// The curve whose seats grow by so much at these levels.
capacity_curve curve_of(std::int64_t free, const std::map<std::int64_t, std::int64_t>& growth) {
  capacity_curve curve;
  curve.free = free;
  auto seats = free;
  for (const auto& [level, more] : growth)
    if (more != 0)
      curve.points.push_back({level, seats += more});
  return curve;
}

} // namespace

std::int64_t capacity_curve::seats_at(std::int64_t level) const {
  const auto above = std::ranges::upper_bound(points, level, {}, &point::level);
  return above == points.begin() ? free : std::prev(above)->seats;
}

std::optional<std::int64_t> capacity_curve::lowest_level(std::int64_t needed) const {
  if (free >= needed)
    return nobody_goes;
  const auto enough = std::ranges::lower_bound(points, needed, {}, &point::seats);
  return enough == points.end() ? std::nullopt : std::optional{enough->level};
}

std::vector<capacity_curve> curves_of(const problem& given, const candidate_rules& rules,
                                      std::span<const node_row> nodes) {
  const auto& view = given.view;
  std::vector<capacity_curve> curves;
  for (std::size_t g = 0; g < given.asked.groups.size(); ++g) {
    const auto& request = given.asked.groups[g].request;
    std::int64_t free = 0;
    std::map<std::int64_t, std::int64_t> growth;
    for (const auto n : nodes) {
      if (!given.filter.suits(g, n))
        continue;
      std::vector<std::int64_t> room{view.promised(n).begin(), view.promised(n).end()};
      auto seats = seats_in(room, request);
      free += seats;
      const auto steps = view.steps(n);
      auto end = view.pods_on(n).size();
      for (auto s = steps.size(); s-- > 0 && steps[s].priority < given.who.priority;
           end = steps[s].first) {
        for (const auto p : view.pods_on(n).subspan(steps[s].first, end - steps[s].first))
          if (rules.all_may_go(n) || rules.may_go(view.portion_of(p)))
            for (std::size_t c = 0; c < room.size(); ++c)
              room[c] += view.requests(p)[c];
        const auto now = seats_in(room, request);
        growth[steps[s].priority] += now - seats;
        seats = now;
      }
    }
    curves.push_back(curve_of(free, growth));
  }
  return curves;
}

capacity_curve sum_of(const capacity_curve& a, const capacity_curve& b) {
  std::map<std::int64_t, std::int64_t> growth;
  for (const auto* one : {&a, &b}) {
    auto before = one->free;
    for (const auto& [level, seats] : one->points) {
      growth[level] += seats - before;
      before = seats;
    }
  }
  return curve_of(a.free + b.free, growth);
}

std::optional<std::int64_t> least_threshold(const problem& given,
                                            std::span<const capacity_curve> curves) {
  auto least = nobody_goes;
  for (std::size_t g = 0; g < curves.size(); ++g) {
    const auto level =
      curves[g].lowest_level(static_cast<std::int64_t>(given.asked.groups[g].needed));
    if (!level)
      return std::nullopt;
    least = std::max(least, *level);
  }
  return least;
}

} // namespace reprieve
