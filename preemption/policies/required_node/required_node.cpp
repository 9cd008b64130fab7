#include "preemption/policies/required_node/required_node.hpp"

#include "preemption/search/search.hpp"
#include "state/quantities/quantity.hpp"
#include "state/text/counted.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>

namespace reprieve {

namespace {

std::string_view name_of(victim_strategy by) {
  switch (by) {
  case victim_strategy::single:
    return "single";
  case victim_strategy::multiple:
    return "multiple";
  }
  return "unknown";
}

/// Rounded up, so that what is beyond a limit does not read as if it were within.
std::int64_t percent_of(const fraction& deviation) {
  const auto hundredths =
    (static_cast<wide_int>(deviation.part) * 100 + deviation.of - 1) / deviation.of;
  constexpr wide_int most = std::numeric_limits<std::int64_t>::max();
  return static_cast<std::int64_t>(std::min(hundredths, most));
}

/// The reservation as it stands from now on.
reservation reserved(const problem& given) {
  const auto& who = given.who;
  return {who.groups.front().required_node,
          who.reserved_since == no_time ? given.settings.now : who.reserved_since};
}

plan wait_for(reservation kept, duration delay, const problem& given) {
  plan made;
  made.result = plan::outcome::reserves;
  made.look_again = kept.since + delay + duration{1};
  made.why.summary =
    fmt::format("{} does not fit; {} is reserved for it, and preemption may start there in {}",
                explainer{given}.preemptor_name(), kept.node,
                format_duration(std::chrono::ceil<std::chrono::seconds>(kept.since + delay
                                                                        - given.settings.now)));
  made.reserve = std::move(kept);
  return made;
}

} // namespace

plan preempt_on_required_node(const problem& given) {
  required_node rules{given};
  // A node that will never do is not reserved.
  if (rules.domains().all().empty())
    return search_victims(given, rules);

  auto kept = reserved(given);
  const auto delay = given.settings.group.required_node.preemption_start_delay;
  // It has to be older than the delay; without one there is nothing to wait for.
  if (delay > duration{0} && given.settings.now - kept.since <= delay) {
    auto made = wait_for(std::move(kept), delay, given);
    made.policy = rules.name();
    return made;
  }
  auto made = search_victims(given, rules);
  if (made.result == plan::outcome::infeasible)
    made.reserve = std::move(kept);
  return made;
}

std::optional<pod> hold_of_reservation(const preemptor& who, const plan& made) {
  if (!made.reserve || !made.assignments.empty() || !is_bound_to_a_node(who))
    return std::nullopt;
  auto held = who.groups.front().pods.front();
  held.node = made.reserve->node;
  held.phase = pod_phase::nominated;
  return held;
}

required_node::required_node(const problem& given)
    : given_(given), settings_(given.settings.group.required_node), explain_(given),
      rules_(given, {.opt_out_may_veto = false}), cascade_(given), room_(given) {}

domain_set required_node::domains() const {
  return domain_set::single_nodes(given_);
}

attempt required_node::try_domain(const domain& where) {
  choice from{room_wanted(given_.view, where.nodes.front(), given_.asked.groups.front().request),
              {}};
  from.victims = possible_victims(given_.view, rules_, from.wanted);

  attempt made{given_.asked};
  // Those are looked at who would go first.
  if (const auto most = given_.settings.group.limits.search_budget;
      most && std::ssize(from.victims) > *most) {
    from.victims.resize(static_cast<std::size_t>(*most));
    made.budget_reached = true;
  }
  // Nobody of a later class goes while those before it would do by any strategy.
  for (std::size_t last = 0; last < victim_classes().size(); ++last) {
    choice some{from.wanted, {}};
    std::ranges::copy_if(from.victims, std::back_inserter(some.victims),
                         [last](const possible_victim& one) { return one.rank <= last; });
    const bool all = some.victims.size() == from.victims.size();
    if ((all || !some.victims.empty()) && try_strategies(where, some, all, made))
      return made;
    if (all)
      break;
  }
  if (made.budget_reached)
    made.why_not += fmt::format("; the search budget ended after {} portion{}", from.victims.size(),
                                from.victims.size() == 1 ? "" : "s");
  if (settings_.strategies.empty())
    made.why_not = "no strategy to select victims is set";
  return made;
}

bool required_node::try_strategies(const domain& where, const choice& from, bool all_classes,
                                   attempt& made) {
  for (const auto by : settings_.strategies) {
    const auto chosen = select(by, from);
    if (chosen.failed == selection::failure::none) {
      made.why_not.clear();
      evict(where, from, by, chosen, made);
      return true;
    }
    if (!all_classes)
      continue;
    if (by == victim_strategy::multiple && chosen.failed == selection::failure::too_little
        && !made.budget_reached)
      made.lacking = shortage_on(where);
    made.why_not += fmt::format("{}{}", made.why_not.empty() ? "" : "; ",
                                why_failed(by, chosen, from, made.lacking));
  }
  return false;
}

selection required_node::select(victim_strategy by, const choice& from) const {
  if (by == victim_strategy::multiple)
    return pick_multiple(from.victims, from.wanted, most_victims());
  auto chosen = pick_single(given_.view, from.victims, from.wanted, settings_.deviation_percent);
  if (chosen.failed == selection::failure::none && most_victims() < 1)
    return {.picked = {}, .failed = selection::failure::too_many, .needed = 1};
  return chosen;
}

std::int64_t required_node::most_victims() const {
  const auto guard = given_.settings.group.limits.victims_per_decision;
  return guard ? std::min(*guard, settings_.max_victims) : settings_.max_victims;
}

void required_node::evict(const domain& where, const choice& from, victim_strategy by,
                          const selection& chosen, attempt& made) {
  const auto& view = given_.view;
  std::vector<portion_row> gone;
  for (const auto at : chosen.picked)
    gone.push_back(from.victims[at].portion);
  std::ranges::sort(gone, [&](portion_row a, portion_row b) { return view.more_important(a, b); });
  made.victims = cost_of(view, gone, given_.settings.now);

  room_.start(where.nodes, domain_room::basis::promised);
  for (const auto p : gone)
    room_.vacate(p);
  made.feasible = room_.seat(made.found);
  made.scored = score_of(view, made.victims, cascade_.cascades(made.victims, made.found.seats),
                         given_.settings.now);

  for (const auto& one : made.victims) {
    const auto& picked = *std::ranges::find(from.victims, one.portion, &possible_victim::portion);
    made.reasons.push_back(
      fmt::format("{}; {}", explain_.why_victim(where.nodes, one.portion, one.pods_over_budget > 0),
                  why_picked(by, picked, from.wanted)));
  }
}

shortage required_node::shortage_on(const domain& where) {
  room_.start(where.nodes, domain_room::basis::promised);
  rules_.keep_who_may_not_go(room_, where.nodes);
  room_.open(std::int64_t{given_.who.priority} - 1);
  return shortage_of(given_, room_);
}

std::string required_node::why_picked(victim_strategy by, const possible_victim& one,
                                      const wanted_room& wanted) const {
  const auto& of_class = victim_classes()[one.rank].name;
  if (by == victim_strategy::multiple)
    return fmt::format("of class {}, by strategy multiple: largest first, and the others that go "
                       "do not free enough",
                       of_class);
  return fmt::format("of class {}, by strategy single: frees enough alone, {}% off the request",
                     of_class, percent_of(deviation_of(given_.view, one.held, wanted.request)));
}

std::string required_node::why_failed(victim_strategy by, const selection& failed,
                                      const choice& from,
                                      const std::optional<shortage>& lacking) const {
  const auto& victims = from.victims;
  switch (failed.failed) {
  case selection::failure::too_little:
    return by == victim_strategy::single ? "single: nobody frees enough alone"
           : !lacking                    ? "multiple: those looked at do not free enough together"
                      : fmt::format("multiple: short of {} even with all candidates gone",
                                    explain_.amount_lacking(*lacking));
  case selection::failure::too_far: {
    const auto& closest = victims[failed.closest];
    const auto off = deviation_of(given_.view, closest.held, from.wanted.request);
    return fmt::format("{}: {} comes closest, and is {}% off the request, not at most {}%",
                       name_of(by), to_string(given_.view.id_of(closest.portion)), percent_of(off),
                       settings_.deviation_percent);
  }
  case selection::failure::too_many:
    return fmt::format("{}: takes {} in its order, and may have {}", name_of(by),
                       counted(failed.needed, "victim"), most_victims());
  case selection::failure::none:
    break;
  }
  return {};
}

} // namespace reprieve
