#include "preemption/cycle/judged_plan.hpp"
#include "preemption/cycle/judgement.hpp"
#include "preemption/engine.hpp"
#include "preemption/pipeline/scoring.hpp"
#include "preemption/policies/queues/quota_victims.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <limits>
#include <set>
#include <utility>

// What a unit may take below a limit that it is beyond: the room of less important ones there.

namespace reprieve {

namespace {

std::vector<const queue_pod*> pointers_to(const std::vector<queue_pod>& pods) {
  std::vector<const queue_pod*> found;
  for (const auto& p : pods)
    found.push_back(&p);
  return found;
}

} // namespace

/// Where others use more than they deserve, whoever uses no more keeps what it has: it could take
/// that back from them at once. Less important ones of the unit's own queue may go.
void unit_judge::among_its_own(const case_at_hand& of, judgement& made) {
  const obstacle own{of.leaf, false, false, 0, 0};
  auto scope = std::make_shared<victim_scope>();
  scope->policy = "quota";
  scope->highest = of.who.priority - 1;
  scope->reasons.push_back(fmt::format("it is less important than {} (priority {}) and in the same "
                                       "queue,",
                                       of.who.workload, of.who.priority));
  scope->why_others_stay = "it is not less important, or its queue uses no more than it deserves";
  for (const auto& one : portions_below(of.leaf))
    if (one.priority < of.who.priority && one.id.workload != of.who.workload && !one.being_placed)
      if (const auto row = port_.view().find_portion(one.id); row != no_row)
        scope->portions.emplace(row, 0);
  made.made = decide_among(port_.view(), of.who, settings_, std::move(scope));
  if (made.made.assignments.empty())
    take_holds_within_quota(of, own, made);
}

void unit_judge::within_quota(const case_at_hand& of, const obstacle& first, judgement& made) {
  made.quota = shares_.sentence_of(first, of.asked);
  if (!of.who.may_preempt)
    return;
  if (!first.limit && !shares_.others_have_pods(of.leaf)) {
    by_priority(of.who, made);
    const bool found = !made.made.assignments.empty();
    if (made.asks || found)
      made.quota.clear();
    if (found) // it may be free and still more than the share
      keep_within_quota(of, made);
    if (!found || !made.made.assignments.empty())
      return;
  }
  auto candidates = less_important_below(of, first.vertex);
  if (!first.limit)
    leave_closed_nodes(candidates);
  leave_guarantees(of.leaf, candidates);
  const auto allowed = allowed_at(first, of.asked);
  if (!could_make_room(of, first, allowed, candidates)) {
    drop(made.made, "quota");
    if (take_holds_within_quota(of, first, made))
      made.quota.clear();
    return;
  }
  made.made = decide_among_these(of, candidates);
  if (!made.made.assignments.empty()
      && add_victims_for(of, first, allowed, std::move(candidates), made.made)) {
    made.quota.clear();
    return;
  }
  drop(made.made, "quota");
  if (take_holds_within_quota(of, first, made))
    made.quota.clear();
}

/// Others below the limit use more than they deserve while the unit is within what its own queue
/// does: they give as much back, whatever they ask for themselves. Those who are more important
/// stay, as they would only take the room again, and so do those without whom their queue would
/// have less than it is guaranteed.
void unit_judge::take_back_within_limit(const case_at_hand& of, const obstacle& limit,
                                        reclaims down_to, judgement& made) {
  if (!of.who.may_preempt || settings_.group.policy == group_policy::sessions)
    return;
  auto queues = lavish_queues_for(of, limit.vertex);
  reclaim_rules rules;
  rules.down_to = down_to;
  for (auto& one : queues) {
    rules.in_all.insert(one.leaf);
    std::erase_if(one.in_order,
                  [&](const queue_portion& portion) { return portion.priority > of.who.priority; });
    leave_guarantees(of.leaf, one.in_order);
  }
  const auto allowed = allowed_at(limit, of.asked);
  for (const bool overrules : {false, true}) {
    rules.overrules = overrules;
    const auto scope = scope_of_reclaim(shares_, queues, of.asked, port_.view(), rules);
    std::vector<queue_portion> candidates;
    for (const auto& one : queues)
      std::ranges::copy_if(
        one.in_order, std::back_inserter(candidates), [&](const queue_portion& portion) {
          const auto row = port_.view().find_portion(portion.id);
          return row != no_row && scope->portions.contains(row) && (overrules || !portion.shielded);
        });
    if (!could_make_room(of, limit, allowed, candidates))
      continue;
    auto found = decide_among(port_.view(), of.who, settings_, scope);
    if (found.assignments.empty()
        || !add_victims_for(of, limit, allowed, std::move(candidates), found, true))
      continue;
    made.made = std::move(found);
    made.quota.clear();
    return;
  }
}

/// So many less important ones of its own queue go that the queue uses no more than it deserves.
bool unit_judge::within_share(const case_at_hand& of, judgement& made) {
  if (!of.who.may_preempt || is_bound_to_a_node(of.who)
      || settings_.group.policy == group_policy::sessions)
    return false;
  const obstacle own{of.leaf, false, false, 0, 0};
  auto candidates = less_important_below(of, of.leaf);
  leave_closed_nodes(candidates);
  const auto& share = shares_.deserved(of.leaf);
  if (!could_make_room(of, own, share, candidates))
    return false;
  judgement other;
  other.made = decide_among_these(of, candidates);
  if (other.made.assignments.empty())
    return false;
  keep_what_is_needed(of.who, other.made);
  if (!add_victims_for(of, own, share, std::move(candidates), other.made)
      || !quota_allows(of, other))
    return false;
  made.made = std::move(other.made);
  made.gives_up.clear();
  made.released.clear();
  made.goes_with_more = false;
  return true;
}

std::vector<queue_portion> unit_judge::less_important_below(const case_at_hand& of,
                                                            std::size_t vertex) {
  std::vector<queue_portion> found;
  if (is_pinned(of)) // which takes nobody else's room for its node
    vertex = of.leaf;
  std::ranges::copy_if(portions_below(vertex), std::back_inserter(found),
                       [&](const queue_portion& one) {
                         return one.priority < of.who.priority && one.id.workload != of.who.workload
                                && !one.being_placed;
                       });
  return found;
}

/// What runs on a node that takes no pods is as much of what there is to share: with it, as much
/// goes from all shares. Who runs on others as well frees what it has there.
void unit_judge::leave_closed_nodes(std::vector<queue_portion>& candidates) {
  const auto& view = port_.nodes();
  const auto columns = columns_in_view();
  std::erase_if(candidates, [&](queue_portion& one) {
    bool frees = false;
    for (const auto& p : one.pods) {
      const auto row = view.find_pod(p.uid);
      if (row == no_row || view.usable(view.node_of(row))) {
        frees = true;
        continue;
      }
      for (std::size_t c = 0; c < columns.size(); ++c)
        if (columns[c])
          one.holds[c] -= view.requests(row)[*columns[c]];
    }
    return !frees;
  });
}

plan unit_judge::decide_among_these(const case_at_hand& of,
                                    const std::vector<queue_portion>& candidates) {
  auto scope = std::make_shared<victim_scope>();
  scope->policy = "quota";
  scope->highest = of.who.priority - 1;
  scope->reasons.push_back(fmt::format("it is less important than {} (priority {}) and in the same "
                                       "quota,",
                                       of.who.workload, of.who.priority));
  scope->why_others_stay = "it is not less important, or does not share the quota";
  for (const auto& one : candidates)
    if (const auto row = port_.view().find_portion(one.id); row != no_row)
      scope->portions.emplace(row, 0);
  return decide_among(port_.view(), of.who, settings_, std::move(scope));
}

const std::vector<queue_portion>& unit_judge::portions_below(std::size_t vertex) {
  const auto [at, fresh] = candidates_.try_emplace(vertex);
  if (fresh) {
    std::vector<std::string> names;
    for (const auto leaf : shares_.leaves())
      if (shares_.is_below(leaf, vertex))
        names.push_back(shares_.at(leaf).spec.name);
    const auto pods = port_.pods_in(names);
    at->second = portions_in_order(pointers_to(pods), shares_.columns());
  }
  return at->second;
}

/// Whether the quota would allow the unit if all of them went.
bool unit_judge::could_make_room(const case_at_hand& of, const obstacle& first,
                                 const column_amounts& allowed,
                                 const std::vector<queue_portion>& candidates) const {
  auto staying = shares_.staying(first.vertex);
  for (const auto& one : candidates)
    for (std::size_t c = 0; c < staying.size(); ++c)
      staying[c] -= one.holds[c];
  for (std::size_t c = 0; c < staying.size(); ++c)
    if (of.asked[c] > 0 && staying[c] > allowed[c] - of.asked[c])
      return false;
  return true;
}

/// Nobody of other queues goes who would leave one of them with less than it is guaranteed.
void unit_judge::leave_guarantees(std::size_t own, std::vector<queue_portion>& candidates) {
  guarantee_keeper kept{shares_, own};
  std::erase_if(candidates, [&](const queue_portion& one) {
    const auto leaf = shares_.leaf_of(port_.queue_of(one.id.workload));
    return leaf != no_vertex && !kept.lets_go(leaf, one.holds);
  });
}

/// Less important ones that share the quota and are still being placed give their room up, if that
/// alone is enough.
bool unit_judge::take_holds_within_quota(const case_at_hand& of, const obstacle& first,
                                         judgement& made) {
  const auto all = port_.holds_below(of.who.priority);
  std::vector<held_decision> holds{all.begin(), all.end()};
  const auto leaf_of = [&](const pod& p) { return shares_.leaf_of(port_.queue_of(p.workload)); };
  std::erase_if(holds, [&](const held_decision& held) {
    return std::ranges::any_of(held.nominated, [&](const pod& p) {
      const auto leaf = leaf_of(p);
      return leaf == no_vertex || !shares_.is_below(leaf, first.vertex);
    });
  });
  if (holds.empty())
    return false;
  const auto allowed = allowed_at(first, of.asked);
  const auto quota_holds = [&](std::span<const held_decision* const> gone) {
    auto staying = shares_.staying(first.vertex);
    for (const auto* held : gone) {
      resources taken;
      for (const auto& p : held->nominated)
        add_taken(taken, p);
      const auto less = shares_.columns_of(taken);
      std::ranges::transform(staying, less, staying.begin(), std::minus{});
    }
    for (std::size_t c = 0; c < allowed.size(); ++c)
      if (of.asked[c] > 0 && staying[c] > allowed[c] - of.asked[c])
        return false;
    return true;
  };
  auto found = find_room_without(port_.view(), of.who, settings_, holds, quota_holds);
  if (found.gives_up.empty())
    return false;
  made.released = released_by(holds, found.gives_up);
  made.made = std::move(found.made);
  made.gives_up = std::move(found.gives_up);
  return true;
}

bool unit_judge::add_victims_for(const case_at_hand& of, const obstacle& first,
                                 column_amounts allowed, std::vector<queue_portion> candidates,
                                 plan& made, bool takes_back) {
  auto after = shares_;
  for (const auto& one : movements_of(of.unit, made))
    if (one.sign < 0)
      after.add(one.leaf, one.amounts, -1);
  for (std::size_t c = 0; c < allowed.size(); ++c)
    if (of.asked[c] > 0 && allowed[c] < std::numeric_limits<std::int64_t>::max())
      allowed[c] -= of.asked[c];
    else
      allowed[c] = std::numeric_limits<std::int64_t>::max();
  std::set<portion_id> going;
  for (const auto& one : made.victims)
    going.insert(one.portion);
  std::erase_if(candidates, [&](const queue_portion& one) { return going.contains(one.id); });
  auto left = settings_.group.limits;
  if (left.victims_per_decision) // those whose room it takes count, too
    *left.victims_per_decision -=
      std::min(*left.victims_per_decision, static_cast<std::int32_t>(made.victims.size()));
  const by_name<guards> limits{{settings_.group.name, left}};
  by_name<std::int32_t> lately{settings_.recent_preemptions.begin(),
                               settings_.recent_preemptions.end()};
  const by_name<std::int32_t> nobody;
  const quota_preemptor who{of.who.workload, of.who.priority, of.asked, first.limit, takes_back};
  const auto choice = choose_victims({.queue = shares_.at(first.vertex).spec.name,
                                      .resources = shares_.columns(),
                                      .staying = after.staying(first.vertex),
                                      .allowed = allowed,
                                      .limits = limits,
                                      .recent_preemptions = lately,
                                      .on_their_way = nobody,
                                      .now = settings_.now,
                                      .made_for = &who},
                                     candidates);
  if (std::ranges::any_of(choice.lacked, [](std::int64_t amount) { return amount > 0; }))
    return false;
  if (choice.victims.empty())
    return true;
  auto& view = port_.view();
  for (const auto& one : choice.victims)
    made.followed.victims.push_back(view.find_portion(one.portion));
  made.victims.insert(made.victims.end(), choice.victims.begin(), choice.victims.end());
  auto by_importance = made.followed.victims;
  std::ranges::sort(by_importance,
                    [&](portion_row a, portion_row b) { return view.more_important(a, b); });
  made.scored = score_of(view, cost_of(view, by_importance, settings_.now), made.scored.cascades,
                         settings_.now);
  if (made.why.threshold)
    made.why.threshold = std::max(*made.why.threshold, made.scored.highest_victim_priority);
  made.why.summary = summary_of(
    of.who, made, choice.victims.size(), takes_back ? "portion" : "less important portion",
    fmt::format("the {} of queue {} is used up{}", first.limit ? "limit" : "share",
                shares_.at(first.vertex).spec.name,
                takes_back ? " and others below it use more than they deserve" : ""));
  made.why.proved_least = false;
  made.why.fewest_pods = 0;
  made.result = plan::outcome::preempts;
  made.policy = "quota";
  return true;
}

} // namespace reprieve
