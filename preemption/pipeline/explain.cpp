#include "preemption/pipeline/explain.hpp"

#include "preemption/pipeline/scoring.hpp"
#include "state/quantities/quantity.hpp"
#include "state/text/counted.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <compare>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace reprieve {

namespace {

/// The first few names, and how many more there are.
std::string listed(const std::set<std::string_view>& names) {
  constexpr std::size_t most = 3;
  const auto last =
    std::next(names.begin(), static_cast<std::ptrdiff_t>(std::min(most, names.size())));
  auto text = fmt::format("{}", fmt::join(names.begin(), last, ", "));
  if (names.size() > most)
    text += fmt::format(" and {}", counted(names.size() - most, "other node"));
  return text;
}

/// Every portion with pods on the nodes, most important first.
std::vector<portion_row> portions_on(const cluster_view& view, std::span<const node_row> nodes) {
  std::vector<portion_row> found;
  for (const auto n : nodes)
    for (const auto p : view.pods_on(n))
      found.push_back(view.portion_of(p));
  const auto more_important = [&](portion_row a, portion_row b) {
    return view.more_important(a, b);
  };
  // On one node they are in this order already, where none has pods apart from each other.
  if (nodes.size() == 1) {
    found.erase(std::ranges::unique(found).begin(), found.end());
    if (std::ranges::is_sorted(found, more_important))
      return found;
  }
  // Once each, in any order; then in theirs.
  std::ranges::sort(found);
  found.erase(std::ranges::unique(found).begin(), found.end());
  std::ranges::sort(found, more_important);
  return found;
}

/// A portion as it looks to the preemptor: one that looks the same could go in its stead.
struct looks {
  node_row node = no_row;
  std::int32_t priority = 0;
  std::uint32_t pods = 0;
  std::vector<std::int64_t> holds;

  auto operator<=>(const looks&) const = default;
};

/// Nothing where the portion has pods on several nodes.
std::optional<looks> looks_of(const cluster_view& view, portion_row p) {
  const auto card = view.card(p);
  looks found{no_row, card.priority, card.pods, std::vector<std::int64_t>(view.width())};
  for (const auto one : view.pods_of(p)) {
    if (found.node != no_row && found.node != view.node_of(one))
      return std::nullopt;
    found.node = view.node_of(one);
    std::ranges::transform(found.holds, view.requests(one), found.holds.begin(), std::plus{});
  }
  return found;
}

/// Why of two that look the same the first one stays, where its importance says so.
std::optional<std::string_view> why_more_important(const portion_card& stays,
                                                   const portion_card& goes) {
  if (stays.group != goes.group)
    return "which is a group";
  if (stays.earliest_start != goes.earliest_start)
    return "which started earlier";
  return std::nullopt;
}

std::string_view why_unsuitable(suitability s) {
  switch (s) {
  case suitability::not_usable:
    return "not ready or closed for new pods";
  case suitability::other_node:
    return "not the required node";
  case suitability::not_selected:
    return "not matching the node selector";
  case suitability::not_tolerated:
    return "tainted without a toleration";
  case suitability::no_topology:
    return "without one of the topology labels";
  case suitability::too_small:
    return "too small even when empty";
  case suitability::unknown:
  case suitability::suitable:
    break;
  }
  return "suitable";
}

} // namespace

void explainer::raise_by_room_without_candidates(node_row n,
                                                 std::vector<std::int64_t>& most) const {
  if (!view_.usable(n))
    return;
  const auto steps = view_.steps(n);
  const auto open = std::ranges::find_if(
    steps, [&](const priority_step& step) { return step.priority < who_.priority; });
  const auto held = open == steps.end()
                      ? amounts{}
                      : view_.held_from(n, static_cast<std::size_t>(open - steps.begin()));
  for (std::size_t c = 0; c < most.size(); ++c)
    most[c] = std::max(most[c], view_.promised(n)[c] + (held.empty() ? 0 : held[c]));
}

std::string explainer::preemptor_name() const {
  return fmt::format("{} (priority {})", who_.workload, who_.priority);
}

void explainer::tell_unsuitable_nodes(std::vector<domain_outcome>& domains) const {
  for (node_row n = 0; n < view_.node_rows(); ++n)
    if (view_.present(n) && !filter_.suits_any_group(n)
        && filter_.of(0, n) != suitability::other_node) {
      auto& outcome = domains.emplace_back();
      outcome.domain = view_.node_name(n);
      outcome.reason = why_unsuitable(filter_.of(0, n));
    }
}

std::string explainer::why_no_node() const {
  for (std::size_t g = 0; g < asked_.groups.size(); ++g) {
    const auto counts = count_nodes(view_, filter_, g);
    if (counts[suitability::suitable] > 0)
      continue;
    std::vector<std::string> parts;
    for (std::size_t s = 0; s < counts.size(); ++s)
      if (counts[s] > 0)
        parts.push_back(
          fmt::format("{} {}", counts[s], why_unsuitable(static_cast<suitability>(s))));
    return fmt::format("no node suits group {}: of {}, {}", asked_.groups[g].wanted->name,
                       counted(view_.node_count(), "node"), fmt::join(parts, ", "));
  }
  return "no node has all topology labels";
}

std::string explainer::why_on_no_node() const {
  const auto& blocks = view_.blocks();
  const auto& request = asked_.groups.front().request;
  std::vector<std::int64_t> most(view_.width(), 0);
  const auto may_have_more = [&](const node_block& block) {
    const auto open = std::ranges::find_if(
      block.steps, [&](const block_step& step) { return step.lowest < who_.priority; });
    const auto row =
      open == block.steps.end()
        ? std::size_t{node_block::most_promised}
        : node_block::most_room(static_cast<std::size_t>(open - block.steps.begin()));
    return !std::ranges::equal(block.amounts_at(row, view_.width()), most, std::less_equal{});
  };
  for (std::size_t b = 0; b < blocks.count(); ++b)
    if (may_have_more(blocks.at(b)))
      for (const auto n : blocks.at(b).nodes)
        raise_by_room_without_candidates(n, most);
  for (resource_column c = 0; c < most.size(); ++c)
    if (request[c] > most[c])
      return fmt::format(": no node has more than {} {} even with all candidates gone, and it asks "
                         "for {}",
                         format_quantity(most[c], view_.resource_name(c)), what_is_lacking(c),
                         format_quantity(request[c], view_.resource_name(c)));
  return " on any node, even with all candidates gone";
}

std::string explainer::why_infeasible(const attempt& tried) const {
  if (!tried.why_not.empty())
    return tried.why_not;
  if (tried.too_many_victims)
    return fmt::format("needs {} and a decision may have {}",
                       counted(tried.victims.size(), "victim"),
                       settings_.group.limits.victims_per_decision.value_or(0));
  if (!tried.lacking)
    return "no order was found in which its groups fit beside each other";
  const auto& lacking = *tried.lacking;
  const auto& group = asked_.groups[lacking.group];
  if (lacking.nearest == no_row)
    return fmt::format("no node of it suits group {}", group.wanted->name);
  return fmt::format(
    "short of {} even with all candidates gone: no room for {} of {}, {} comes nearest",
    amount_lacking(lacking), lacking.pods, counted(group.needed, "needed pod"),
    view_.node_name(lacking.nearest));
}

std::string explainer::amount_lacking(const shortage& lacking) const {
  const auto resource = view_.resource_name(lacking.resource);
  if (resource == resource::pods)
    return counted(static_cast<std::size_t>(lacking.by), "place") + " for pods";
  return fmt::format("{} {}", format_quantity(lacking.by, resource), resource);
}

std::string_view explainer::what_is_lacking(resource_column resource) const {
  const auto name = view_.resource_name(resource);
  return name == resource::pods ? "places for pods" : name;
}

std::string explainer::why_victim(std::span<const node_row> used, portion_row p,
                                  bool over_budget) const {
  const auto why = scope_ != nullptr ? scope_->reasons[scope_->portions.at(p)]
                                     : fmt::format("its priority {} is below {}",
                                                   view_.card(p).priority, who_.priority);
  return fmt::format("{} and {} does not fit on {} beside it{}", why, who_.workload,
                     shared_nodes(used, p),
                     over_budget ? "; this exceeds a disruption budget" : "");
}

std::string explainer::why_passed_over(standing s, portion_row p) const {
  const auto card = view_.card(p);
  switch (s) {
  case standing::at_or_above:
    return fmt::format("its priority {} is not below {}", card.priority, who_.priority);
  case standing::own:
    return fmt::format("belongs to {} itself", who_.workload);
  case standing::daemon:
    return "daemon pods are never victims";
  case standing::protected_member:
    return card.group ? "one of its pods is protected, and it goes whole or not at all"
                      : "it is a protected member of its group";
  case standing::arriving:
    return "some of its pods are still being placed";
  case standing::too_young:
    return fmt::format(
      "has run for {}, less than the minimum runtime of {}",
      format_duration(settings_.now - card.earliest_start),
      format_duration(std::max(settings_.group.limits.minimum_runtime, card.minimum_runtime)));
  case standing::too_often:
    return fmt::format("its workload was preempted {} in the last hour, of {} allowed",
                       counted(settings_.times_preempted(view_.id_of(p).workload), "time"),
                       settings_.group.limits.preemptions_per_workload_per_hour.value_or(0));
  case standing::opted_out:
    return "has opted out of preemption";
  case standing::kin_stays:
    return "others of its session may not go, and a session goes whole";
  case standing::not_preemptible:
    return fmt::format("its priority {} is above {}, up to which sessions may be preempted",
                       card.priority, settings_.group.preemptible_priority);
  case standing::out_of_scope:
    return scope_ == nullptr ? "is not among those that may go" : scope_->why_others_stay;
  case standing::candidate:
    break;
  }
  return "may go";
}

std::string explainer::why_reprieved(const plan& made, portion_row p, std::int32_t priority,
                                     const std::string& fits, said_before& said) const {
  if (made.followed.kept_for_budgets.contains(p))
    return "a disruption budget counts on it, and it " + fits;
  const auto threshold = made.why.threshold;
  if (!threshold || priority <= *threshold)
    return fits;
  auto& reason = said[priority];
  if (reason.empty())
    reason = fmt::format("its priority {} is above the threshold {}", priority, *threshold);
  return reason;
}

std::string explainer::shared_nodes(std::span<const node_row> used, portion_row p) const {
  std::set<std::string_view> names;
  for (const auto one : view_.pods_of(p))
    if (std::ranges::binary_search(used, view_.node_of(one)))
      names.insert(view_.node_name(view_.node_of(one)));
  return listed(names);
}

void explainer::tell(const candidate_rules& rules, plan& made) const {
  const auto& followed = made.followed;
  const std::set<portion_row> victims(followed.victims.begin(), followed.victims.end());
  const auto all = portions_on(view_, followed.nodes);
  tell_of_victims(rules, all, made);
  const auto fits_on = [&](std::string_view nodes) {
    return fmt::format("still fits on {} beside {}", nodes, who_.workload);
  };
  // On a single node most have the same to be said of them.
  const bool on_one_node = followed.nodes.size() == 1;
  const auto fits = on_one_node ? fits_on(view_.node_name(followed.nodes.front())) : "";
  said_before too_important;
  said_before above_threshold;
  for (const auto portion : all) {
    if (victims.contains(portion))
      continue;
    const auto card = view_.card(portion);
    const auto s = rules.of(portion);
    if (s == standing::candidate) {
      made.why.reprieved.push_back(
        {view_.id_of(portion), card.priority,
         why_reprieved(made, portion, card.priority,
                       on_one_node ? fits : fits_on(shared_nodes(followed.nodes, portion)),
                       above_threshold)});
    } else if (s == standing::at_or_above) {
      auto& reason = too_important[card.priority];
      if (reason.empty())
        reason = why_passed_over(s, portion);
      made.why.passed_over.push_back({view_.id_of(portion), card.priority, reason});
    } else {
      made.why.passed_over.push_back(
        {view_.id_of(portion), card.priority, why_passed_over(s, portion)});
    }
  }
}

void explainer::tell_of_victims(const candidate_rules& rules, std::span<const portion_row> all,
                                plan& made) const {
  const auto& followed = made.followed;
  const std::set<portion_row> victims(followed.victims.begin(), followed.victims.end());
  std::map<looks, std::vector<portion_row>> stay; // the most important first
  for (const auto p : all)
    if (!victims.contains(p) && rules.may_go(p))
      if (auto seen = looks_of(view_, p))
        stay[*std::move(seen)].push_back(p);
  for (std::size_t i = 0; i < made.victims.size(); ++i) {
    auto& one = made.victims[i];
    if (!one.reason.empty())
      continue;
    const auto goes = followed.victims[i];
    one.reason = why_victim(followed.nodes, goes, one.violates_budget);
    const auto seen = looks_of(view_, goes);
    if (const auto equals = seen ? stay.find(*seen) : stay.end(); equals != stay.end())
      one.reason += why_rather_than_equals(equals->second, goes);
  }
}

std::string explainer::why_rather_than_equals(std::span<const portion_row> equals,
                                              portion_row goes) const {
  // The last of those that are more important is nearest to it.
  const auto less_important =
    std::ranges::find_if(equals, [&](portion_row p) { return view_.more_important(goes, p); });
  const auto work = work_lost(view_, goes, settings_.now);
  const auto told = [&](portion_row stays, std::string_view why) {
    return fmt::format("; it goes rather than {}, {}", to_string(view_.id_of(stays)), why);
  };
  constexpr std::string_view loses_more = "which would lose more work";
  if (less_important != equals.begin()) {
    const auto stays = *std::prev(less_important);
    const auto importance = why_more_important(view_.card(stays), view_.card(goes));
    if (importance)
      return told(stays, *importance);
    return told(stays, work_lost(view_, stays, settings_.now) > work
                         ? loses_more
                         : "which comes before it by name");
  }
  const auto dearer = std::ranges::find_if(
    equals, [&](portion_row p) { return work_lost(view_, p, settings_.now) > work; });
  return dearer == equals.end() ? std::string{} : told(*dearer, loses_more);
}

void explainer::tell_who_may_not_go(const candidate_rules& rules, const domain& where,
                                    reasoning& why) const {
  for (const auto portion : portions_on(view_, where.nodes)) {
    const auto s = rules.of(portion);
    const bool too_important =
      s == standing::at_or_above || s == standing::not_preemptible || s == standing::out_of_scope;
    if (s == standing::candidate || (too_important && where.nodes.size() > 1))
      continue;
    const auto card = view_.card(portion);
    why.passed_over.push_back({view_.id_of(portion), card.priority, why_passed_over(s, portion)});
  }
}

std::string explainer::who_may_not_go(const candidate_rules& rules, const domain& where) const {
  std::vector<node_row> nodes;
  std::ranges::copy_if(where.nodes, std::back_inserter(nodes),
                       [&](node_row n) { return !rules.all_may_go(n); });
  auto kept = portions_on(view_, nodes);
  std::erase_if(kept, [&](portion_row p) {
    const auto s = rules.of(p);
    return s == standing::candidate || s == standing::at_or_above || s == standing::not_preemptible
           || s == standing::out_of_scope;
  });
  if (kept.empty())
    return {};
  constexpr std::size_t most = 3;
  std::vector<std::string> named;
  for (const auto p : std::span{kept}.first(std::min(most, kept.size())))
    named.push_back(
      fmt::format("{} ({})", to_string(view_.id_of(p)), why_passed_over(rules.of(p), p)));
  auto text =
    fmt::format("; {} may not go: {}", counted(kept.size(), "portion"), fmt::join(named, ", "));
  if (kept.size() > most)
    text += fmt::format(" and {}", counted(kept.size() - most, "other"));
  return text;
}

std::string explainer::summary_of_seats(const seating& found) const {
  const auto pods = found.seats.size();
  const auto nodes = nodes_of(found).size();
  return fmt::format("{} (priority {}) gets {} pod{} on {} node{}", who_.workload, who_.priority,
                     pods, pods == 1 ? "" : "s", nodes, nodes == 1 ? "" : "s");
}

std::string explainer::summary_of(const attempt& chosen) const {
  auto text = summary_of_seats(chosen.found);
  const auto count = chosen.victims.size();
  if (count == 0)
    return text += "; nobody goes";
  const auto highest = view_.card(chosen.victims.front().portion).priority;
  const auto lowest = view_.card(chosen.victims.back().portion).priority;
  auto end = std::back_inserter(text);
  fmt::format_to(end, "; {} portion{} of priority {}", count, count == 1 ? "" : "s", lowest);
  if (lowest != highest)
    fmt::format_to(end, " to {}", highest);
  fmt::format_to(end, " {}; nothing above priority {} was touched", count == 1 ? "goes" : "go",
                 highest);
  return text;
}

} // namespace reprieve
