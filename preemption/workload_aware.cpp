#include "preemption/workload_aware.hpp"

#include "preemption/reprieve.hpp"

#include <algorithm>
#include <utility>

namespace reprieve {

workload_aware::workload_aware(const problem& given)
    : given_(given), seater_(given), rules_(given), cascade_(given.view),
      tried_(given.view, trial::basis::promised) {}

attempt workload_aware::try_domain(const domain& where) {
  const auto& view = given_.view;
  const auto& settings = given_.settings;
  attempt made{given_.asked};

  tried_.start_domain();
  rules_.keep_who_may_not_go(tried_, where.nodes);

  const auto openings = openings_of(view, where, given_.who.priority);
  if (!find_seats(where, openings, made.found)) {
    made.lacking = shortage_of(given_, where, tried_, made.found);
    return made;
  }
  if (view.budget_rows() > 0)
    respect_budgets(where, openings, made);
  made.threshold = highest_opened();

  const auto victims = reprieve_who_fits(view, rules_, tried_, made.kept_for_budgets);
  seater_.seat_the_rest(tried_, where.nodes, made.found);

  made.victims = cost_of(view, victims, settings.now);
  const auto most = settings.group.limits.victims_per_decision;
  made.too_many_victims = most && std::ssize(victims) > *most;
  made.feasible = !made.too_many_victims;
  made.scored = score_of(view, made.victims, cascade_.cascades(made.victims, tried_), settings.now);
  return made;
}

bool workload_aware::find_seats(const domain& where, std::span<const opening> openings,
                                seating& found) {
  tried_.start_placement();
  if (seater_.seat_by_level(tried_, openings, found))
    return true;
  return given_.asked.groups.size() > 1 && find_packed_seats(where, openings, found);
}

/// The lowest level at which packing finds seats, by binary search. Packing is a rule of thumb, so
/// what is found is a level that was tried, if perhaps not the lowest of all.
bool workload_aware::find_packed_seats(const domain& where, std::span<const opening> openings,
                                       seating& found) {
  const auto packs = [&](std::int64_t level, seating& packed) {
    tried_.start_placement();
    packed = seating{given_.asked};
    return seater_.seat_packed(tried_, where.nodes, level, packed);
  };
  std::vector<std::int64_t> levels;
  for (const auto& one : openings)
    if (levels.empty() || levels.back() < one.level)
      levels.push_back(one.level);
  if (!packs(levels.back(), found))
    return false;
  seating packed{given_.asked};
  const auto lowest = std::partition_point(levels.begin(), levels.end() - 1,
                                           [&](auto level) { return !packs(level, packed); });
  return packs(*lowest, found);
}

/// Puts back whom budgets count on, then seats the preemptor again beside them. Where that fails
/// (hardest first is only a rule of thumb), the seats are the ones they were put back beside.
void workload_aware::respect_budgets(const domain& where, std::span<const opening> openings,
                                     attempt& made) {
  made.kept_for_budgets = reprieve_for_budgets(given_.view, rules_, tried_, where.nodes);
  seating again{given_.asked};
  if (find_seats(where, openings, again)) {
    made.found = std::move(again);
    return;
  }
  tried_.start_placement();
  for (const auto& one : made.found.seats) {
    tried_.open(one.node, first_step_below(given_.view, one.node, given_.who.priority));
    tried_.claim(one.node, given_.asked.groups[one.group].request);
  }
}

std::optional<std::int32_t> workload_aware::highest_opened() const {
  std::optional<std::int32_t> highest;
  for (const auto n : tried_.claimed_nodes()) {
    const auto steps = given_.view.steps(n);
    if (const auto step = tried_.opened(n); step < steps.size())
      highest = std::max(highest, std::optional{steps[step].priority});
  }
  return highest;
}

domain_set workload_aware::domains() const {
  return given_.who.gang ? domain_set::for_gang(given_) : domain_set::single_nodes(given_);
}

std::optional<std::int64_t> workload_aware::least_level(const domain& where) const {
  if (given_.who.gang)
    return nobody_goes;
  const auto n = where.nodes.front();
  const auto& view = given_.view;
  const auto& request = given_.asked.groups.front().request;
  const auto room = view.promised(n);
  if (covers(room, request))
    return nobody_goes;
  const auto fits_without = [&](amounts held) {
    for (std::size_t c = 0; c < request.size(); ++c)
      if (request[c] > 0 && request[c] > room[c] + held[c])
        return false;
    return true;
  };
  const auto steps = view.steps(n);
  const auto first = first_step_below(view, n, given_.who.priority);
  for (auto s = steps.size(); s-- > first;)
    if (fits_without(view.held_from(n, s)))
      return steps[s].priority;
  return std::nullopt;
}

attempt workload_aware::ruled_out(const domain& where) {
  attempt made{given_.asked};
  tried_.start_domain();
  made.lacking = shortage_of(given_, where, tried_, made.found);
  return made;
}

} // namespace reprieve
