#include "preemption/cycle/cycle.hpp"
#include "preemption/engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

// Who waits in a cycle for others to go or to come back, and starts in free room where there is
// some by now.

namespace reprieve {

std::vector<cycle_port::awaited_room> scheduling_cycle::next_awaiting() {
  auto found = port_.awaiting(looked_at_);
  std::ranges::sort(found, [](const auto& a, const auto& b) {
    return std::tie(b.place, b.decision) < std::tie(a.place, a.decision);
  });
  return found;
}

void scheduling_cycle::looked_up_to(const service_place& place) {
  if (looked_at_ < place)
    looked_at_ = place;
}

/// Whether there is room in which nobody has to be waited for. Within a limit those who leave count
/// until they have gone.
bool scheduling_cycle::has_free_room(const waiting_unit& unit) {
  const auto leaf = shares_->leaf_of(unit.queue());
  if (leaf == no_vertex || !shares_->is_within_limits_with_all(leaf, asked_by(*shares_, *unit.who)))
    return false;
  auto bare = settings_;
  bare.explained = depth::nothing;
  bare.tells_failure = false;
  return !reprieve::place(port_.nodes(), *unit.who, bare).assignments.empty();
}

/// The first of those that wait for others to go and come before that place moves where there is
/// free room for it. Whether one did.
bool scheduling_cycle::move_to_free_room(const service_place* before) {
  if (!awaiting_)
    awaiting_ = next_awaiting();
  while (!awaiting_->empty() && (before == nullptr || awaiting_->back().place < *before)) {
    const auto one = std::move(awaiting_->back());
    awaiting_->pop_back();
    looked_up_to(one.place);
    if (!has_free_room(one.unit))
      continue;
    const auto unit = port_.take_back_nomination(
      one, fmt::format(
             "there is free room for {} by now; what those leave whom it waits for is for others",
             one.unit.who->workload));
    if (!unit)
      continue;
    awaiting_.reset(); // another of its kind may be the next
    decided_ = true;
    others_go();
    if (auto made = reprieve::place(port_.nodes(), *unit->who, settings_);
        !made.assignments.empty()) {
      note_promised(*unit);
      port_.place(*unit, std::move(made));
    } else { // it waits again as others do
      auto& line = lines_[std::string(unit->queue())];
      line.leaf = shares_->leaf_of(unit->queue());
      line.heap.push_back({one.place, *unit, {}});
      std::push_heap(line.heap.begin(), line.heap.end());
      look_at_front(line);
    }
    wake_kinds(&last_);
    return true;
  }
  looked_up_to(before == nullptr ? behind_all : *before); // there is as little for others alike
  return false;
}

void scheduling_cycle::others_go() {
  others_may_have_gone_ = true;
  judge_->forget_candidates();
  returning_.clear();
  coming_soon_.reset();
}

/// Whether it is back in a moment. Of those who leave nobody knows, so that it is a moment after
/// they were told.
bool scheduling_cycle::comes_soon(const returning_work& one) const {
  if (!one.leaves)
    return one.due - settings_.now < claims::shortest;
  if (one.due != no_time && settings_.now - one.due >= claims::shortest)
    return false;
  port_.look_again((one.due == no_time ? settings_.now : one.due) + claims::shortest);
  return true;
}

const std::vector<returning_work>& scheduling_cycle::returning_to(const std::string& queue) {
  const auto [at, fresh] = returning_.try_emplace(queue);
  if (fresh)
    at->second = port_.returning(queue, settings_.now + claims::longest);
  return at->second;
}

const claims::by_leaf& scheduling_cycle::coming_soon() {
  if (coming_soon_)
    return *coming_soon_;
  coming_soon_.emplace();
  for (const auto leaf : shares_->leaves())
    for (const auto& one : returning_to(shares_->at(leaf).spec.name))
      if (comes_soon(one))
        claims::add((*coming_soon_)[leaf], shares_->columns_of(one.takes));
  return *coming_soon_;
}

claims scheduling_cycle::claims_before(const waiting_unit& unit) {
  claims found;
  if (!unit.record || unit.queue().empty())
    return found;
  found.elsewhere = [this]() -> const claims::by_leaf& { return coming_soon(); };
  const auto own = place_of(unit, 0);
  if (!port_.may_return_before(unit.queue(), own))
    return found;
  for (const auto& one : returning_to(std::string(unit.queue()))) {
    if (!(one.place < own) || one.place.workload == own.workload)
      continue;
    const auto takes = shares_->columns_of(one.takes);
    claims::add(found.later, takes);
    if (comes_soon(one))
      claims::add(found.soon, takes);
  }
  return found;
}

/// Within a limit those who leave count until they have gone; its own victims have, when it starts,
/// and those for whose room it waits. What it will use is its already where it stops nobody, so
/// that nobody less important comes in between.
bool scheduling_cycle::waits_for_a_limit(const waiting_unit& unit, judgement& made) {
  const auto leaf = shares_->leaf_of(unit.queue());
  if (leaf == no_vertex || !shares_->is_limited(leaf))
    return false;
  resources sum;
  for (const auto& one : made.made.assignments)
    add_taken(sum, one.placed);
  const auto taken = shares_->columns_of(sum);
  const auto movements = judge_->movements_of(unit, made.made);
  const bool stops_nobody = made.made.victims.empty() && made.released.empty();
  const bool waits = made.made.result != plan::outcome::placed;
  std::optional<group_shares> then;
  if (!stops_nobody || waits) {
    then = *shares_;
    for (const auto& one : made.released)
      then->release(one.leaf, one.amounts);
    for (const auto& one : movements)
      if (one.sign < 0)
        then->release(one.leaf, one.amounts);
    if (waits)
      for (const auto& one : judge_->awaited_by(made.made))
        then->release(one.leaf, one.amounts);
  }
  if ((then ? *then : *shares_).is_within_limits_with_all(leaf, taken, &taken))
    return false;
  if (stops_nobody) {
    for (const auto& one : movements)
      shares_->add(one.leaf, one.amounts, one.sign);
    kept_.push_back({last_, std::string(unit.queue()), std::move(sum)});
  }
  kept_for_a_limit_ = true;
  auto policy = std::move(made.made.policy);
  made.made = plan{};
  made.made.policy = std::move(policy);
  made.made.why.summary = "there is room, but pods that leave count within a limit of its queue "
                          "until they have gone";
  return true;
}

} // namespace reprieve
