#include "preemption/engine.hpp"

#include "preemption/assembly.hpp"
#include "preemption/search.hpp"
#include "preemption/workload_aware.hpp"

#include <fmt/format.h>

#include <utility>

namespace reprieve {

namespace {

plan infeasible(const explainer& explain, std::string_view why) {
  plan none;
  none.why.summary = fmt::format("{} {}", explain.preemptor_name(), why);
  return none;
}

/// What no cluster like this one can ever place.
std::optional<plan> refuse(const problem& given, const explainer& explain) {
  const auto& asked = given.asked;
  if (!asked.unknown_resource.empty())
    return infeasible(explain,
                      fmt::format("does not fit: no node has any {}", asked.unknown_resource));
  if (asked.groups.empty())
    return infeasible(explain, "asks for no pods");
  return std::nullopt;
}

/// Seats for the preemptor in the room there is, in the first domain by name that has them.
std::optional<seating> seats_without_victims(const problem& given, trial::basis room) {
  const seater find{given};
  const auto domains = domain_set::for_gang(given);
  trial tried{given.view, room};
  for (const auto& where : domains.all()) {
    tried.start_domain();
    seating found{given.asked};
    if (!find.seat_needed(tried, where.nodes, found)) {
      if (given.asked.groups.size() == 1)
        continue;
      tried.start_domain();
      found = seating{given.asked};
      if (!find.seat_packed(tried, where.nodes, nobody_goes, found))
        continue;
    }
    find.seat_the_rest(tried, where.nodes, found);
    if (!found.seats.empty())
      return found;
  }
  return std::nullopt;
}

plan plan_without_victims(const problem& given, const explainer& explain, const seating& found,
                          plan::outcome result, std::string_view when) {
  plan made;
  made.result = result;
  made.assignments = assignments_of(given, found);
  made.why.summary = fmt::format("{} {}", explain.summary_of_seats(found), when);
  return made;
}

std::optional<plan> place_now(const problem& given, const explainer& explain) {
  if (const auto found = seats_without_victims(given, trial::basis::free))
    return plan_without_victims(given, explain, *found, plan::outcome::placed,
                                "in what is free; nobody goes");
  return std::nullopt;
}

std::optional<plan> place_later(const problem& given, const explainer& explain) {
  if (const auto found = seats_without_victims(given, trial::basis::promised))
    return plan_without_victims(given, explain, *found, plan::outcome::waits,
                                "once those have gone who leave anyway; nobody else goes");
  return std::nullopt;
}

} // namespace

plan place(const cluster_view& view, const preemptor& who, const plan_settings& settings) {
  const problem given{view, who, settings};
  const explainer explain{given};
  if (auto refused = refuse(given, explain))
    return *std::move(refused);
  if (auto placed = place_now(given, explain))
    return *std::move(placed);
  return infeasible(explain, "does not fit in what is free");
}

plan decide(const cluster_view& view, const preemptor& who, const plan_settings& settings) {
  const problem given{view, who, settings};
  const explainer explain{given};
  if (auto refused = refuse(given, explain))
    return *std::move(refused);
  if (auto placed = place_now(given, explain))
    return *std::move(placed);
  if (auto waits = place_later(given, explain))
    return *std::move(waits);
  if (!who.may_preempt)
    return infeasible(explain,
                      "does not fit in what is free, and its priority class never preempts");
  workload_aware rules{given};
  return search_victims(given, rules);
}

} // namespace reprieve
