#include "preemption/victims/exact_victim_search.hpp"

#include <algorithm>
#include <limits>

namespace reprieve {

exact_victim_search::exact_victim_search(const problem& given, domain_room& room,
                                         std::span<const portion_row> candidates,
                                         std::size_t most_steps, effort& spent)
    : given_(given), room_(room), candidates_(candidates),
      most_victims_(given.settings.group.limits.victims_per_decision.value_or(
        std::numeric_limits<std::int32_t>::max())),
      steps_left_(most_steps), spent_(spent), budgets_(given.view) {
  for (const auto p : candidates)
    work_lost_.push_back(work_lost(given.view, p, given.settings.now));
}

void exact_victim_search::run(const std::optional<score>& best, const judge& found) {
  best_ = best;
  found_ = &found;
  decide(0, score_of_nobody(given_.settings.now));
}

void exact_victim_search::decide(std::size_t at, const score& so_far) {
  if (std::ssize(victims_) > most_victims_)
    return; // more are not allowed
  // More victims never make a score better, so what is not better now won't be.
  if (best_ && !may_be_better(so_far))
    return;
  if (at == candidates_.size()) {
    if (!all_are_needed())
      return;
    const auto scored = (*found_)(victims_);
    if (scored && (!best_ || may_be_better(*scored))) {
      best_ = scored;
      found_any_ = true;
    }
    return;
  }
  if (steps_left_ == 0 || spent_.exhausted()) {
    complete_ = false;
    return;
  }
  --steps_left_;
  spent_.spend(1);
  const auto p = candidates_[at];
  room_.occupy(p);
  if (room_.fits())
    decide(at + 1, so_far);
  room_.vacate(p);

  auto with = so_far;
  add_to(with, given_.view.card(p), budgets_.add(p), work_lost_[at], given_.settings.now);
  victims_.push_back(p);
  decide(at + 1, with);
  victims_.pop_back();
  budgets_.remove(p);
}

bool exact_victim_search::may_be_better(const score& some) const {
  const auto minimised = given_.settings.group.minimised;
  return found_any_ ? better(some, *best_, minimised) : !better(*best_, some, minimised);
}

/// Nobody goes who could stay, not even to spare a victim the temptation to preempt it.
bool exact_victim_search::all_are_needed() {
  return std::ranges::none_of(victims_, [&](portion_row p) {
    room_.occupy(p);
    const bool stays = room_.fits();
    room_.vacate(p);
    return stays;
  });
}

} // namespace reprieve
