#include "preemption/pipeline/room_after.hpp"

#include "preemption/pipeline/candidates.hpp"
#include "preemption/problem/node_filter.hpp"
#include "preemption/room/seating.hpp"

#include <algorithm>
#include <functional>

namespace reprieve {

void room_after::vacate(pod_row p) {
  const auto n = view_.node_of(p);
  change(n, view_.requests(p), 1);
  gone_[n].push_back(p);
}

bool room_after::place(amounts request, const pod_group* group) {
  auto& from = reached_[{group, {request.begin(), request.end()}}];
  const auto& blocks = view_.blocks();
  for (; from.block < blocks.count(); from = {from.block + 1, 0}) {
    const auto& block = blocks.at(from.block);
    if (from.node == 0 && !may_take(block, request))
      continue;
    for (; from.node < block.nodes.size(); ++from.node) {
      const auto n = block.nodes[from.node];
      if (suits(n, group) && covers(room(n), request)) {
        take(n, request);
        return true;
      }
    }
  }
  return false;
}

bool room_after::place_without_those_below(std::int32_t priority, amounts request,
                                           const pod_group* group) {
  const auto& blocks = view_.blocks();
  for (std::size_t b = 0; b < blocks.count(); ++b) {
    const auto& block = blocks.at(b);
    if (!may_take_without_those_below(block, priority, request))
      continue;
    for (const auto n : block.nodes) {
      if (!suits(n, group))
        continue;
      auto room_then = held_below(n, priority);
      const auto now = room(n);
      std::ranges::transform(room_then, now, room_then.begin(), std::plus{});
      if (covers(room_then, request)) {
        take(n, request);
        return true;
      }
    }
  }
  return false;
}

bool room_after::may_take(const node_block& block, amounts request) const {
  return covers(block.amounts_at(node_block::most_promised, view_.width()), request)
         || has_changed_in(block);
}

bool room_after::may_take_without_those_below(const node_block& block, std::int32_t priority,
                                              amounts request) const {
  for (std::size_t s = 0; s < block.steps.size(); ++s)
    if (block.steps[s].lowest < priority)
      return covers(block.amounts_at(node_block::most_room(s), view_.width()), request)
             || has_changed_in(block);
  return false;
}

bool room_after::has_changed_in(const node_block& block) const {
  return std::ranges::any_of(
    changed_, [&](const auto& one) { return view_.blocks().of(one.first) == &block; });
}

std::vector<std::int64_t> room_after::held_below(node_row n, std::int32_t priority) const {
  std::vector<std::int64_t> held(view_.width());
  const auto step = step_at(view_, n, std::int64_t{priority} - 1);
  if (step == view_.steps(n).size())
    return held;
  const auto all = view_.held_from(n, step);
  std::ranges::copy(all, held.begin());
  const auto gone = gone_.find(n);
  const auto& limits = settings_.group.limits;
  if (gone == gone_.end() && !view_.has_immovable(n) && limits.minimum_runtime == duration{0}
      && !limits.preemptions_per_workload_per_hour)
    return held;
  const auto counts = [&](pod_row p) {
    const auto is = standing_by_guards(view_, settings_, view_.portion_of(p));
    return (is == standing::candidate || is == standing::arriving)
           && (gone == gone_.end() || std::ranges::find(gone->second, p) == gone->second.end());
  };
  for (const auto p : view_.pods_on(n).subspan(view_.steps(n)[step].first))
    if (!counts(p)) {
      const auto request = view_.requests(p);
      std::ranges::transform(held, request, held.begin(), std::minus{});
    }
  return held;
}

bool room_after::suits(node_row n, const pod_group* group) const {
  return view_.usable(n) && (group == nullptr || may_run_on(*group, view_.node_at(n)));
}

amounts room_after::room(node_row n) const {
  const auto changed = changed_.find(n);
  return changed == changed_.end() ? view_.promised(n) : amounts{changed->second};
}

void room_after::change(node_row n, amounts request, std::int64_t sign) {
  auto [at, fresh] = changed_.try_emplace(n);
  if (fresh)
    at->second.assign(view_.promised(n).begin(), view_.promised(n).end());
  for (std::size_t c = 0; c < request.size(); ++c)
    at->second[c] += sign * request[c];
}

} // namespace reprieve
