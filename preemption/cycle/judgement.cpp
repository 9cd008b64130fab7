#include "preemption/cycle/judgement.hpp"

#include "preemption/engine.hpp"
#include "preemption/pipeline/room_after.hpp"
#include "preemption/pipeline/scoring.hpp"
#include "preemption/policies/queues/queue_stage.hpp"
#include "preemption/policies/queues/quota_victims.hpp"
#include "preemption/policies/required_node/required_node.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <ranges>
#include <set>

namespace reprieve {

namespace {

std::vector<const queue_pod*> pointers_to(const std::vector<queue_pod>& pods) {
  std::vector<const queue_pod*> found;
  for (const auto& p : pods)
    found.push_back(&p);
  return found;
}

std::string counted(std::size_t number, std::string_view noun) {
  return fmt::format("{} {}{}", number, noun, number == 1 ? "" : "s");
}

/// What the unit gets, as the summary of any plan begins.
std::string what_it_gets(const preemptor& who, const plan& made) {
  std::set<std::string_view> nodes;
  for (const auto& one : made.assignments)
    nodes.insert(one.placed.node);
  return fmt::format("{} (priority {}) gets {} on {}", who.workload, who.priority,
                     counted(made.assignments.size(), "pod"), counted(nodes.size(), "node"));
}

/// The first pods of each group, as many as are needed.
void keep_what_is_needed(const preemptor& who, plan& made) {
  std::map<std::string_view, std::int32_t> left;
  for (const auto& group : who.groups)
    left[group.name] += group.needed;
  const auto before = what_it_gets(who, made);
  std::erase_if(made.assignments,
                [&](const assignment& one) { return --left[one.placed.group] < 0; });
  if (auto& told = made.why.summary; told.starts_with(before))
    told.replace(0, before.size(), what_it_gets(who, made));
}

/// The plan in a sentence, where the last so many of its victims go for the quota's sake alone. Its
/// result is still what it was without them.
std::string summary_of(const preemptor& who, const plan& made, std::size_t for_quota,
                       std::string_view whose, const std::string& why) {
  auto text = what_it_gets(who, made);
  if (made.result == plan::outcome::placed)
    text += " in what is free";
  else if (made.result == plan::outcome::waits)
    text += " once those have gone who leave anyway";
  const auto all = made.victims.size();
  text += fmt::format("; {} {}", counted(all, whose), all == 1 ? "goes" : "go");
  if (for_quota < all)
    text += fmt::format(", {} of them", for_quota);
  return text
         + fmt::format(" as {}; nothing above priority {} was touched", why,
                       made.scored.highest_victim_priority);
}

bool anybody_is_shielded(std::span<const lavish_queue> queues) {
  return std::ranges::any_of(queues, [](const lavish_queue& one) {
    return std::ranges::any_of(one.in_order, &queue_portion::shielded);
  });
}

void drop(plan& made, std::string policy) {
  made = plan{};
  made.policy = std::move(policy);
}

} // namespace

bool is_gang(const workload& of, std::string_view group) {
  const auto position = group_position(of, group);
  return position && of.groups[*position].is_gang();
}

group_shares::amounts_by_column asked_by(const group_shares& shares, const preemptor& who) {
  return asked_by(shares.columns(), who);
}

group_shares::amounts_by_column asked_by(std::span<const std::string> columns,
                                         const preemptor& who) {
  group_shares::amounts_by_column sum(columns.size());
  for (const auto& group : who.groups)
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const auto each =
        amount_of(group.pods.front().requests, columns[c]) + (columns[c] == resource::pods ? 1 : 0);
      sum[c] += each * group.needed;
    }
  return sum;
}

void claims::add(group_shares::amounts_by_column& sum,
                 const group_shares::amounts_by_column& more) {
  sum.resize(more.size());
  for (std::size_t c = 0; c < more.size(); ++c)
    sum[c] += more[c];
}

std::shared_ptr<const preemptor> with_all_needed(preemptor who) {
  for (auto& group : who.groups)
    group.needed = static_cast<std::int32_t>(group.pods.size());
  return std::make_shared<const preemptor>(std::move(who));
}

/// All of a gang that has to stop others come at once, where that can be: those that it does not
/// need would stop others as soon as it runs, be it those who came in between.
judgement unit_judge::judge(const waiting_unit& unit, bool at_front, const claims& before) {
  auto made = judge_as_asked(unit, at_front, before);
  std::size_t pods = 0;
  for (const auto& group : unit.who->groups)
    pods += group.pods.size();
  if (made.asks || made.made.victims.empty() || !unit.who->gang
      || made.made.assignments.size() >= pods)
    return made;
  const auto all = with_all_needed(*unit.who);
  asks_nobody_ = true;
  auto whole = judge_as_asked({unit.record, all}, at_front, before);
  asks_nobody_ = false;
  if (whole.made.assignments.size() != pods)
    return made;
  whole.as_a_whole = all;
  return whole;
}

judgement unit_judge::judge_as_asked(const waiting_unit& unit, bool at_front,
                                     const claims& before) {
  judgement made;
  auto who = unit.who;
  const auto since = is_bound_to_a_node(*who) ? port_.reserved_since(*who) : no_time;
  if (since != who->reserved_since || at_front != who->at_front) {
    auto changed = *who;
    changed.at_front = at_front;
    changed.reserved_since = since;
    who = std::make_shared<const preemptor>(std::move(changed));
  }
  settings_.explained = depth_for(port_.nodes(), *who, port_.most_domains_told());
  if (!unit.record) {
    by_priority(*who, made);
    return made;
  }
  const case_at_hand of{unit, *who, shares_.leaf_of(unit.queue()), asked_by(shares_, *who), before};
  if (of.leaf == no_vertex) {
    made.quota = fmt::format("queue {} does not exist any more", unit.queue());
    made.no_queue = true;
    return made;
  }
  by_room_and_quota(of, made);
  if (!made.asks && !made.made.assignments.empty())
    keep_within_quota(of, made);
  if (!made.asks && !made.made.victims.empty() && !is_bound_to_a_node(*who)
      && lets_others_back(of, before.later, made)) {
    drop(made.made, made.made.policy);
    made.gives_up.clear();
    made.released.clear();
  }
  return made;
}

/// Whether the queue has no room for the unit once those are back.
bool unit_judge::lets_others_back(const case_at_hand& of, const column_amounts& claimed,
                                  judgement& made) const {
  if (claimed.empty() || settings_.group.policy == group_policy::sessions)
    return false;
  auto more = of.asked;
  claims::add(more, claimed);
  for (std::size_t c = 0; c < more.size(); ++c)
    if (of.asked[c] == 0)
      more[c] = 0;
  if (shares_.is_entitled(of.leaf, more) || shares_.may_borrow(of.leaf, more))
    return false;
  made.lets_others_back = true;
  made.quota = fmt::format("more important work of queue {} was stopped and comes back first",
                           of.unit.queue());
  return true;
}

/// Whether there is enough for the unit beside what other queues deserve and somebody of them comes
/// back for in a moment.
bool unit_judge::leaves_others_what_they_come_for(const case_at_hand& of, judgement& made) const {
  if (!of.before.elsewhere)
    return true;
  auto more = of.asked;
  for (const auto& [leaf, takes] : of.before.elsewhere())
    if (leaf != of.leaf)
      for (std::size_t c = 0; c < more.size(); ++c)
        if (of.asked[c] > 0)
          more[c] += std::clamp<std::int64_t>(shares_.deserved(leaf)[c] - shares_.staying(leaf)[c],
                                              0, takes[c]);
  if (more == of.asked || shares_.has_room_for(more))
    return true;
  made.lets_others_back = true;
  made.quota = "work of queues that deserve the room was stopped and comes back for it";
  return false;
}

void unit_judge::by_room_and_quota(const case_at_hand& of, judgement& made) {
  const auto limits = shares_.limits_in_the_way(of.leaf, of.asked);
  made.entitled = limits.empty() && shares_.is_entitled(of.leaf, of.asked);
  made.may_borrow = made.entitled || (limits.empty() && shares_.may_borrow(of.leaf, of.asked));
  for (const auto& one : limits)
    if (one.for_ever) {
      made.quota = shares_.sentence_of(one, of.asked);
      return;
    }
  // These have rules of their own for whom they may take, which may leave the quota enough.
  const bool pinned = is_pinned(of);
  if (!pinned && (is_bound_to_a_node(of.who) || settings_.group.policy == group_policy::sessions)) {
    by_priority(of.who, made);
    return;
  }
  if (!limits.empty()) {
    // Who has what it deserves is not stopped for one of its queue while others have more than
    // that.
    const auto lacks_share = shares_.share_in_the_way(of.leaf, of.asked);
    if (!lacks_share)
      take_back_within_limit(of, limits.front(), reclaims::to_the_share, made);
    if (made.made.assignments.empty())
      within_quota(of, limits.front(), made);
    if (!lacks_share && made.made.assignments.empty())
      take_back_within_limit(of, limits.front(), reclaims::past_the_share, made);
    // Room that others below the limit leave may be more than its own queue deserves.
    if (lacks_share && !made.made.assignments.empty() && !quota_allows(of, made)) {
      made.gives_up.clear();
      made.released.clear();
      within_quota(of, *lacks_share, made);
    }
    return;
  }
  if (lets_others_back(of, of.before.soon, made))
    return;
  const bool crowded = shares_.anybody_uses_too_much(of.asked);
  // One that never preempts gets what is free, whosever share that is.
  if (made.may_borrow && (!of.who.may_preempt || (made.entitled && !crowded && !pinned))) {
    by_priority(of.who, made);
    if (!made.asks && !made.made.victims.empty() && !shares_.is_alone(of.leaf)
        && !others_find_room_again(of, made.made)) {
      drop(made.made, made.made.policy);
      made.gives_up.clear();
      made.released.clear();
      made.others_lack_room = true;
      among_its_own(of, made);
    }
    return;
  }
  if (made.may_borrow && !made.entitled && !leaves_others_what_they_come_for(of, made))
    return;
  if (made.may_borrow) {
    made.made = find_room(port_.nodes(), of.who, settings_);
    if (!made.made.assignments.empty())
      return;
  }
  if (made.entitled) {
    if (of.who.may_preempt && !by_reclaim(of, made))
      among_its_own(of, made);
    return;
  }
  within_quota(of, *shares_.share_in_the_way(of.leaf, of.asked), made);
}

/// Whether it is a pod that only one node will do for, and no daemon, beside pods of other queues.
/// Its own queue chose the node, so that others lose there what they use beyond what they deserve,
/// and nothing else.
bool unit_judge::is_pinned(const case_at_hand& of) const {
  return is_bound_to_a_node(of.who) && !of.who.groups.front().pods.front().daemon
         && shares_.others_have_pods(of.leaf);
}

/// Rather than that somebody is stopped, a less important one waits on that has no room yet.
bool unit_judge::take_waiting_holds(const preemptor& who, std::span<const held_decision> holds,
                                    judgement& made) {
  if (holds.empty() || !who.may_preempt || is_bound_to_a_node(who)
      || settings_.group.policy == group_policy::sessions)
    return false;
  auto found = find_room_over_waiting(port_.nodes(), who, settings_, holds);
  if (found.made.assignments.empty())
    return false;
  made.released = released_by(holds, found.gives_up);
  made.made = std::move(found.made);
  made.gives_up = std::move(found.gives_up);
  return true;
}

void unit_judge::by_priority(const preemptor& who, judgement& made) {
  if (take_waiting_holds(who, port_.holds_below(who.priority), made))
    return;
  auto* seen = asks_nobody_ ? nullptr : port_.answers_for(who);
  if (seen == nullptr && !asks_nobody_ && port_.may_ask_shards(who, settings_)) {
    made.made = find_room(port_.nodes(), who, settings_);
    if (made.made.assignments.empty())
      made.asks = port_.ask_shards(who, settings_);
    return;
  }
  const bool answered = seen != nullptr && seen->has_answers();
  live_hints none{port_.nodes(), {}};
  made.made =
    decide(answered ? port_.nodes() : port_.view(), who, settings_, answered ? *seen : none);
  if (!made.made.assignments.empty() || !who.may_preempt)
    return;
  const auto holds = port_.holds_below(who.priority);
  if (holds.empty())
    return;
  auto found = decide_over_holds(port_.view(), who, settings_, holds);
  made.released = released_by(holds, found.gives_up);
  made.made = std::move(found.made);
  made.gives_up = std::move(found.gives_up);
}

std::vector<quota_movement> unit_judge::released_by(std::span<const held_decision> holds,
                                                    const std::vector<given_up>& which) {
  std::vector<quota_movement> released;
  for (const auto& held : holds)
    if (std::ranges::find(which, held.id, &given_up::decision) != which.end())
      for (const auto& p : held.nominated)
        if (const auto leaf = shares_.leaf_of(port_.queue_of(p.workload)); leaf != no_vertex) {
          resources taken;
          add_taken(taken, p);
          released.push_back({leaf, shares_.columns_of(taken), -1});
        }
  return released;
}

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

/// Up to what the quota's pods may use for so much more. What may be borrowed need not be given
/// back by anybody.
unit_judge::column_amounts unit_judge::allowed_at(const obstacle& one,
                                                  const column_amounts& asked) const {
  auto allowed = shares_.allowed_at(one);
  if (!one.limit)
    for (std::size_t c = 0; c < allowed.size(); ++c)
      allowed[c] = std::max(
        {allowed[c], shares_.keeps(one.vertex, c),
         shares_.staying(one.vertex)[c] + shares_.most_to_borrow(one.vertex, c, asked[c])});
  return allowed;
}

unit_judge::column_amounts unit_judge::taken_by(const plan& made) const {
  resources sum;
  for (const auto& one : made.assignments)
    add_taken(sum, one.placed);
  return shares_.columns_of(sum);
}

/// Where the view has the resources of the shares.
std::vector<std::optional<resource_column>> unit_judge::columns_in_view() {
  std::vector<std::optional<resource_column>> columns;
  for (const auto& name : shares_.columns())
    columns.push_back(port_.nodes().column_of(name));
  return columns;
}

namespace {

/// What the plan places on each node, by the view's columns.
std::map<node_row, std::vector<std::int64_t>> placed_by_node(const cluster_view& view,
                                                             const plan& made) {
  std::map<node_row, std::vector<std::int64_t>> found;
  for (const auto& one : made.assignments) {
    const auto more = view.columns(one.placed.requests);
    const auto n = view.find_node(one.placed.node);
    if (!more || n == no_row)
      continue;
    auto& sum = found[n];
    sum.resize(more->size());
    std::ranges::transform(sum, *more, sum.begin(), std::plus{});
  }
  return found;
}

/// Whether that fits on the node once all have gone who leave, even if this one stays. Room that
/// others hold there counts: whoever finds its own first starts first.
bool fits_beside(const cluster_view& view, node_row n, pod_row stays, amounts placed) {
  const auto has = view.capacity(n);
  for (std::size_t c = 0; c < placed.size(); ++c) {
    const auto taken = view.steps(n).empty() ? 0 : view.held_from(n, 0)[c];
    if (placed[c] > 0 && placed[c] > has[c] - taken - view.requests(stays)[c])
      return false;
  }
  return true;
}

} // namespace

std::vector<quota_movement> unit_judge::awaited_by(const plan& made) {
  const auto& view = port_.nodes();
  const auto columns = columns_in_view();
  std::vector<quota_movement> found;
  for (const auto& [n, placed] : placed_by_node(view, made))
    for (const auto p : view.leaving_on(n)) {
      const auto leaf = shares_.leaf_of(port_.queue_of(view.id_of(view.portion_of(p)).workload));
      if (leaf == no_vertex || fits_beside(view, n, p, placed))
        continue;
      quota_movement gone{leaf, column_amounts(columns.size()), -1};
      for (std::size_t c = 0; c < columns.size(); ++c)
        if (columns[c])
          gone.amounts[c] = view.requests(p)[*columns[c]];
      found.push_back(std::move(gone));
    }
  return found;
}

std::vector<quota_movement> unit_judge::movements_of(const waiting_unit& unit, const plan& made) {
  std::vector<quota_movement> found;
  if (const auto leaf = shares_.leaf_of(unit.queue()); leaf != no_vertex)
    found.push_back({leaf, taken_by(made), 1});
  if (made.victims.empty())
    return found;
  const auto& view = port_.nodes();
  const auto columns = columns_in_view();
  for (const auto& one : made.victims) {
    const auto leaf = shares_.leaf_of(port_.queue_of(one.portion.workload));
    if (leaf == no_vertex)
      continue;
    quota_movement gone{leaf, column_amounts(columns.size()), -1};
    for (const auto& each : one.pods)
      if (const auto p = view.find_pod(each.uid); p != no_row && !view.leaving(p))
        for (std::size_t c = 0; c < columns.size(); ++c)
          if (columns[c])
            gone.amounts[c] += view.requests(p)[*columns[c]];
    found.push_back(std::move(gone));
  }
  return found;
}

/// Whether somebody of its own queue goes who held as much: then the queue's pods would go with no
/// more than before.
bool unit_judge::replaces_one_as_large(const case_at_hand& of, const judgement& judged,
                                       const column_amounts& taken) {
  column_amounts given_up(taken.size());
  for (const auto& one : judged.released)
    if (one.leaf == of.leaf)
      claims::add(given_up, one.amounts);
  return std::ranges::equal(given_up, taken, std::ranges::greater_equal{})
         || std::ranges::any_of(movements_of(of.unit, judged.made), [&](const quota_movement& one) {
              return one.sign < 0 && one.leaf == of.leaf
                     && std::ranges::equal(one.amounts, taken, std::ranges::greater_equal{});
            });
}

/// Whether pods that are not needed come to a replica that goes as a whole.
bool unit_judge::adds_to_a_whole(const case_at_hand& of, const plan& made) const {
  if (std::ranges::none_of(made.assignments, [](const assignment& one) {
        return one.placed.disruption == disruption_mode::pod_group;
      }))
    return false;
  std::size_t needed = 0;
  for (const auto& group : of.who.groups)
    needed += static_cast<std::size_t>(group.needed);
  return !of.who.gang || made.assignments.size() > needed;
}

/// When that queue takes its room back, the portion goes as a whole, its own queue is below its
/// share, and takes from others in turn: without an end where each of them comes back.
bool unit_judge::would_go_with_more(const case_at_hand& of, const plan& made,
                                    const group_shares& after, const column_amounts& taken) {
  std::map<portion_id, column_amounts> portions;
  for (const auto& one : made.assignments) {
    resources sum;
    add_taken(sum, one.placed);
    claims::add(portions[portion_of(one.placed)], shares_.columns_of(sum));
  }
  auto base = after.staying(of.leaf);
  auto& view = port_.view();
  for (auto& [id, size] : portions)
    if (const auto row = id.whole_replica() ? view.find_portion(id) : no_row; row != no_row)
      for (const auto p : view.pods_of(row))
        for (std::size_t c = 0; c < size.size(); ++c)
          if (const auto column = view.column_of(shares_.columns()[c])) {
            const auto has = view.requests(p)[*column];
            size[c] += has;
            base[c] -= has;
          }
  const auto& share = after.deserved(of.leaf);
  for (const auto& [id, size] : portions) {
    for (std::size_t c = 0; c < size.size(); ++c) {
      const auto top = base[c] + size[c];
      if (base[c] < share[c] && share[c] < top)
        return !after.leaves_others_their_share(of.leaf, taken);
      base[c] = top;
    }
  }
  return false;
}

bool unit_judge::quota_allows(const case_at_hand& of, judgement& judged) {
  const auto& made = judged.made;
  const auto taken = taken_by(made);
  judged.goes_with_more = false;
  if (made.victims.empty() && judged.released.empty()) {
    if (shares_.is_entitled(of.leaf, taken))
      return true;
    judged.goes_with_more =
      adds_to_a_whole(of, made) && would_go_with_more(of, made, shares_, taken);
    return !judged.goes_with_more && shares_.may_borrow(of.leaf, taken);
  }
  auto after = shares_;
  for (const auto& one : judged.released)
    after.release(one.leaf, one.amounts);
  for (const auto& one : movements_of(of.unit, made))
    if (one.sign < 0)
      after.add(one.leaf, one.amounts, -1);
  if (after.is_entitled(of.leaf, taken))
    return true;
  judged.goes_with_more =
    !replaces_one_as_large(of, judged, taken) && would_go_with_more(of, made, after, taken);
  if (judged.goes_with_more)
    return false;
  if (after.may_borrow(of.leaf, taken))
    return true;
  if (!after.is_within_limits(of.leaf, taken))
    return false;
  for (std::size_t c = 0; c < taken.size(); ++c)
    if (taken[c] > 0 && after.staying(of.leaf)[c] + taken[c] > shares_.keeps(of.leaf, c))
      return false;
  return true;
}

void unit_judge::keep_within_quota(const case_at_hand& of, judgement& made) {
  // More of a gang than it needs is not lent before others had their turn who deserve it.
  if (made.entitled && made.made.victims.empty()
      && !shares_.is_entitled(of.leaf, taken_by(made.made)))
    keep_what_is_needed(of.who, made.made);
  if (quota_allows(of, made))
    return;
  keep_what_is_needed(of.who, made.made);
  if (quota_allows(of, made) || (made.goes_with_more && within_share(of, made)))
    return;
  auto limits = shares_.limits_in_the_way(of.leaf, of.asked);
  const auto share = shares_.share_in_the_way(of.leaf, of.asked);
  if (!limits.empty())
    made.quota = shares_.sentence_of(limits.front(), of.asked);
  else if (share && made.goes_with_more)
    made.quota = shares_.sentence_of(*share, of.asked)
                 + "; the rest is deserved by others who ask for it, and it would go as a whole";
  else if (share)
    made.quota = shares_.sentence_of(*share, of.asked);
  else
    made.quota = fmt::format("queue {} may not use as much", of.unit.queue());
  drop(made.made, made.made.policy);
  made.gives_up.clear();
  made.released.clear();
}

} // namespace reprieve
