#include "preemption/engine.hpp"

#include "preemption/evaluation/evaluation_hints.hpp"
#include "preemption/policies/required_node/required_node.hpp"
#include "preemption/policies/sessions/sessions.hpp"
#include "preemption/policies/workload_aware/workload_aware.hpp"
#include "preemption/room/domain_room.hpp"
#include "preemption/search/plan_builder.hpp"
#include "preemption/search/search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

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
  if (given.view.node_count() == 0)
    return infeasible(explain, "does not fit: there are no nodes");
  if (!asked.unknown_resource.empty())
    return infeasible(explain,
                      fmt::format("does not fit: no node has any {}", asked.unknown_resource));
  if (asked.groups.empty())
    return infeasible(explain, "asks for no pods");
  return std::nullopt;
}

/// The nodes, in order of name, that have room for a pod of some group: blocks that have none are
/// passed over as a whole.
std::vector<node_row> nodes_with_room(const problem& given, domain_room::basis from) {
  const auto& view = given.view;
  const auto row =
    from == domain_room::basis::free ? node_block::most_free : node_block::most_promised;
  const auto takes_some = [&](amounts room) {
    return std::ranges::any_of(given.asked.groups,
                               [&](const auto& group) { return covers(room, group.request); });
  };
  std::vector<node_row> found;
  for (std::size_t b = 0; b < view.blocks().count(); ++b) {
    const auto& block = view.blocks().at(b);
    if (!takes_some(block.amounts_at(row, view.width())))
      continue;
    for (const auto n : block.nodes)
      if (takes_some(from == domain_room::basis::free ? view.free(n) : view.promised(n))
          && given.filter.suits_any_group(n)) {
        found.push_back(n);
        if (!given.who.gang)
          return found;
      }
  }
  return found;
}

/// Seats for the preemptor in the room there is, in the first domain by name that has them.
std::optional<seating> seats_without_victims(const problem& given, domain_room::basis from) {
  const auto nodes = nodes_with_room(given, from);
  if (nodes.empty())
    return std::nullopt;
  if (!given.who.gang) {
    seating alone{given.asked};
    alone.seats.push_back({0, 0, nodes.front()});
    alone.placed.front() = 1;
    return alone;
  }
  const auto domains = domain_set::among(given, nodes);
  domain_room room{given};
  for (const auto& where : domains.all()) {
    room.start(where.nodes, from);
    seating found{given.asked};
    if (!room.seat(found))
      continue;
    room.claim(found);
    room.seat_the_rest(found);
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
  if (const auto found = seats_without_victims(given, domain_room::basis::free))
    return plan_without_victims(given, explain, *found, plan::outcome::placed,
                                "in what is free; nobody goes");
  return std::nullopt;
}

std::optional<plan> place_later(const problem& given, const explainer& explain) {
  if (const auto found = seats_without_victims(given, domain_room::basis::promised))
    return plan_without_victims(given, explain, *found, plan::outcome::waits,
                                "once those have gone who leave anyway; nobody else goes");
  return std::nullopt;
}

/// What there is to say without looking for victims: that it can never be placed, that it fits, or
/// that it will.
std::optional<plan> without_victims(const problem& given, const explainer& explain) {
  if (auto refused = refuse(given, explain))
    return refused;
  if (auto placed = place_now(given, explain))
    return placed;
  return place_later(given, explain);
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

plan find_room(const cluster_view& view, const preemptor& who, const plan_settings& settings) {
  const problem given{view, who, settings};
  const explainer explain{given};
  if (auto settled = without_victims(given, explain))
    return *std::move(settled);
  return infeasible(explain, "does not fit in what is free or will be");
}

depth depth_for(const cluster_view& view, const preemptor& who, std::size_t most_domains) {
  if (view.node_count() <= most_domains)
    return depth::all;
  if (!who.gang || topology_keys_of(who).empty())
    return depth::chosen;
  const plan_settings any;
  const problem given{view, who, any};
  return domain_set::for_gang(given).all().size() <= most_domains ? depth::chosen : depth::summary;
}

plan decide(const cluster_view& view, const preemptor& who, const plan_settings& settings) {
  live_hints none{view, {}};
  return decide(view, who, settings, none);
}

plan decide(const cluster_view& view, const preemptor& who, const plan_settings& settings,
            live_hints& seen) {
  const problem given{view, who, settings};
  const explainer explain{given};
  if (auto settled = without_victims(given, explain))
    return *std::move(settled);
  if (!who.may_preempt)
    return infeasible(explain,
                      "does not fit in what is free, and its priority class never preempts");
  if (is_bound_to_a_node(who))
    return preempt_on_required_node(given);
  if (settings.group.policy == group_policy::sessions)
    return preempt_sessions(given);
  workload_aware rules{given};
  return search_victims(given, rules, seen.on(given));
}

plan decide_among(const cluster_view& view, const preemptor& who, const plan_settings& settings,
                  std::shared_ptr<const victim_scope> scope) {
  const problem given{view, who, settings, std::move(scope)};
  const explainer explain{given};
  if (auto settled = without_victims(given, explain))
    return *std::move(settled);
  workload_aware rules{given};
  return search_victims(given, rules, nullptr);
}

void explain(const cluster_view& view, const preemptor& who, const plan_settings& settings,
             plan& made) {
  const problem given{view, who, settings, made.followed.terms.scope};
  explainer{given}.tell(candidate_rules{given, made.followed.terms}, made);
}

} // namespace reprieve
