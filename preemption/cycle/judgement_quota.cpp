#include "preemption/cycle/judged_plan.hpp"
#include "preemption/cycle/judgement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

// What a plan takes and gives back in the queues, and whether they allow it.

namespace reprieve {

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
