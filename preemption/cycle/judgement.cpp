#include "preemption/cycle/judgement.hpp"

#include "preemption/cycle/judged_plan.hpp"
#include "preemption/engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace reprieve {

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

} // namespace reprieve
