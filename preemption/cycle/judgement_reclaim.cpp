#include "preemption/cycle/judgement.hpp"
#include "preemption/engine.hpp"
#include "preemption/pipeline/room_after.hpp"
#include "preemption/policies/queues/quota_victims.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <ranges>
#include <set>
#include <utility>

// What a unit may take back from queues that use more than they deserve.

namespace reprieve {

namespace {

bool anybody_is_shielded(std::span<const lavish_queue> queues) {
  return std::ranges::any_of(queues, [](const lavish_queue& one) {
    return std::ranges::any_of(one.in_order, &queue_portion::shielded);
  });
}

} // namespace

/// The other queues that use more than they deserve of what is asked for, of those below the vertex
/// where that is one.
std::vector<lavish_queue> unit_judge::lavish_queues_for(const case_at_hand& of, std::size_t below) {
  std::vector<std::string> names;
  for (const auto leaf : shares_.leaves())
    if (leaf != of.leaf && shares_.uses_too_much(leaf, of.asked)
        && (below == no_vertex || shares_.is_below(leaf, below)))
      names.push_back(shares_.at(leaf).spec.name);
  std::vector<lavish_queue> queues;
  if (names.empty())
    return queues;
  const auto pods = port_.pods_in(names);
  std::map<std::size_t, std::vector<const queue_pod*>> by_leaf;
  for (const auto& p : pods)
    by_leaf[shares_.leaf_of(p.queue)].push_back(&p);
  for (const auto& [leaf, some] : by_leaf) {
    queues.push_back({leaf, portions_in_order(some, shares_.columns())});
    for (auto& portion : queues.back().in_order)
      portion.shielded = is_shielded(portion, settings_.group.limits, settings_.now);
  }
  return queues;
}

bool unit_judge::by_reclaim(const case_at_hand& of, judgement& made) {
  const auto queues = lavish_queues_for(of, no_vertex);
  if (queues.empty())
    return false;
  const bool any_shielded = anybody_is_shielded(queues);
  // Rather without bringing a queue below what it deserves, as it would come back for that; and
  // rather those who ask for nothing against it.
  for (const auto down_to : {reclaims::to_the_share, reclaims::past_the_share})
    for (const bool overrules : {false, true}) {
      if (overrules && !any_shielded)
        continue;
      if (auto found = reclaim(of, queues, {down_to, overrules})) {
        made.made = *std::move(found);
        return true;
      }
    }
  return false;
}

std::optional<plan> unit_judge::reclaim(const case_at_hand& of,
                                        std::span<const lavish_queue> queues, reclaim_rules rules) {
  for (;;) {
    auto scope = scope_of_reclaim(shares_, queues, of.asked, port_.view(), rules);
    auto found = scope->portions.empty()
                   ? plan{}
                   : decide_among(port_.view(), of.who, settings_, std::move(scope));
    if (found.assignments.empty() && rules.in_all.empty())
      return std::nullopt;
    const auto too_much = given_too_much(shares_, queues, of.asked, found.victims, rules);
    if (!found.assignments.empty() && too_much.empty())
      return found;
    const auto before = rules.in_all.size();
    for (const auto& [leaf, some] : too_much)
      rules.in_all.insert(leaf);
    if (rules.in_all.size() == before)
      return reclaim_without_some(of, queues, rules);
  }
}

/// Those who cost least give too much together, and those who would go first are not enough: some
/// of the former stay, and others go for them, so that nobody finds nothing because others cost
/// least where there is more free room. All that are too much stay at first, then each by itself,
/// then two, and so on, as far as that is tried.
std::optional<plan> unit_judge::reclaim_without_some(const case_at_hand& of,
                                                     std::span<const lavish_queue> queues,
                                                     const reclaim_rules& given) {
  constexpr int most_tried = 12;
  auto bare = settings_;
  bare.explained = depth::nothing;
  bare.tells_failure = false;
  std::set<std::set<portion_id>> known{{}};
  std::deque<std::set<portion_id>> next{{}};
  const auto try_later = [&](std::set<portion_id> without) {
    if (known.insert(without).second)
      next.push_back(std::move(without));
  };
  for (int tried = 0; tried < most_tried && !next.empty(); ++tried) {
    const reclaim_rules rules{given.down_to, given.overrules, {}, std::move(next.front())};
    next.pop_front();
    const auto scope = scope_of_reclaim(shares_, queues, of.asked, port_.view(), rules);
    if (scope->portions.empty())
      continue;
    const auto found = decide_among(port_.view(), of.who, bare, scope);
    if (found.assignments.empty())
      continue;
    const auto too_much = given_too_much(shares_, queues, of.asked, found.victims, rules);
    if (too_much.empty())
      return decide_among(port_.view(), of.who, settings_, scope);
    auto without_all = rules.left_out;
    for (const auto& [leaf, some] : too_much)
      without_all.insert(some.begin(), some.end());
    try_later(std::move(without_all));
    std::set<portion_id> going;
    for (const auto& one : found.victims)
      going.insert(one.portion);
    const auto& giving = *std::ranges::find(queues, too_much.begin()->first, &lavish_queue::leaf);
    for (const auto& portion : std::views::reverse(giving.in_order))
      if (going.contains(portion.id)) {
        auto without = rules.left_out;
        without.insert(portion.id);
        try_later(std::move(without));
      }
  }
  return std::nullopt;
}

/// Whether those of other queues who go for the plan have room elsewhere. Their queues use no more
/// than they deserve: without room they would take it from others.
bool unit_judge::others_find_room_again(const case_at_hand& of, const plan& made) {
  const auto& view = port_.view();
  room_after room{view, settings_};
  std::vector<pod_row> going;
  for (const auto& one : made.victims)
    for (const auto& each : one.pods)
      if (const auto p = view.find_pod(each.uid); p != no_row) {
        room.vacate(p);
        if (port_.queue_of(one.portion.workload) != of.unit.queue())
          going.push_back(p);
      }
  for (const auto& one : made.assignments)
    if (const auto asked = view.columns(one.placed.requests))
      room.take(view.find_node(one.placed.node), *asked);
  return std::ranges::all_of(going, [&](pod_row p) { return room.place(view.requests(p)); });
}

} // namespace reprieve
