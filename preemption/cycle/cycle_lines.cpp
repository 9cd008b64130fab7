#include "preemption/cycle/cycle.hpp"

#include <algorithm>
#include <utility>

// The lines of a cycle, one for each queue: who is next.

namespace reprieve {

void scheduling_cycle::line_up() {
  for (const auto& [queue, units] : port_.line().fresh()) {
    auto& line = lines_[queue];
    for (const auto& [place, unit] : units)
      line.heap.push_back({place, unit, {}});
  }
  const auto& kinds = port_.line().all_kinds();
  const bool by_kind = sets_kinds_aside();
  for (const auto& [key, kind] : kinds) {
    if (kind.aside || kind.units.empty())
      continue;
    auto& heap = lines_[kind.queue].heap;
    if (by_kind) {
      heap.push_back({kind.units.begin()->first, kind.units.begin()->second, key});
      continue;
    }
    for (const auto& [place, unit] : kind.units) // each of them is told why it waits
      heap.push_back({place, unit, {}});
  }
  for (auto& [queue, line] : lines_) {
    std::make_heap(line.heap.begin(), line.heap.end());
    line.leaf = queue.empty() ? no_vertex : shares_->leaf_of(queue);
  }
  auto line = lines_.end(); // most kinds come queue by queue
  for (const auto& [key, kind] : kinds)
    if (kind.aside && !kind.units.empty()) {
      if (line == lines_.end() || line->first != kind.queue)
        line = lines_.find(kind.queue);
      if (line == lines_.end())
        others_aside_ = true;
      else if (line->second.leaf != no_vertex)
        line->second.aside.push_back({key, asked_of(kind)});
    }
  for (auto& [queue, of] : lines_)
    look_at_front(of);
}

void scheduling_cycle::find_who_is_before(queue_line& line) {
  line.behind.reset();
  if (line.heap.empty() || line.leaf == no_vertex)
    return;
  const auto& kinds = port_.line().all_kinds();
  for (const auto& [key, asked] : line.aside) {
    const auto of = kinds.find(key);
    if (of == kinds.end() || !of->second.aside || shares_->is_entitled(line.leaf, asked))
      continue;
    const auto last = waiting_line::last_before(of->second, line.heap.front().place);
    if (last && (!line.passed || *line.passed < *last) && (!line.behind || *line.behind < *last))
      line.behind = last;
  }
}

void scheduling_cycle::look_at_front(queue_line& line) {
  line.asked.clear();
  line.behind.reset();
  if (is_only_line() || line.heap.empty() || line.leaf == no_vertex)
    return;
  line.asked = asked_by(*shares_, *line.heap.front().unit.who);
  find_who_is_before(line);
}

/// The line whose first is served next: of those that precede the others, the one whose first comes
/// first.
scheduling_cycle::queue_line* scheduling_cycle::next_line() {
  queue_line* best = nullptr;
  const service_place* best_place = nullptr;
  auto best_before = precedence::others;
  for (auto& [queue, line] : lines_) {
    if (line.heap.empty() || line.pauses)
      continue;
    if (is_only_line())
      return &line;
    if (line.asked.empty()) // there was no other line yet
      look_at_front(line);
    if (first_to_pause_ && !may_come_between(line))
      continue;
    const auto before = precedence_of(line);
    const auto& place = line.behind ? *line.behind : line.heap.front().place;
    if (best == nullptr || before > best_before || (before == best_before && place < *best_place)) {
      best = &line;
      best_before = before;
      best_place = &place;
    }
  }
  return best;
}

bool scheduling_cycle::may_come_between(queue_line& line) const {
  return precedence_of(line) >= first_to_pause_->before
         && line.heap.front().unit.who->priority >= first_to_pause_->place.priority;
}

std::int64_t scheduling_cycle::most_of_many() const {
  constexpr std::int64_t least_of_each = 16;
  if (most_of_runs_ == 0)
    return 0;
  return std::max(most_of_runs_ / std::ssize(lines_), least_of_each);
}

scheduling_cycle::precedence scheduling_cycle::precedence_of(queue_line& line) const {
  if (!line.behind && is_entitled(line))
    return precedence::is_entitled;
  return has_entitled(line) ? precedence::has_entitled : precedence::others;
}

/// Those who are set aside count as well, so that it does not matter that they are.
bool scheduling_cycle::has_entitled(queue_line& line) const {
  if (line.nobody_entitled || line.heap.empty() || line.leaf == no_vertex)
    return false;
  const auto& from = line.behind ? *line.behind : line.heap.front().place;
  const auto found = [&](const service_place& last, group_shares::amounts_by_column asked) {
    if (!(from < last) || !shares_->is_entitled(line.leaf, asked))
      return false;
    line.entitled.emplace(last, std::move(asked));
    return true;
  };
  if (line.entitled && from < line.entitled->first
      && shares_->is_entitled(line.leaf, line.entitled->second))
    return true;
  const auto& kinds = port_.line().all_kinds();
  const auto is_aside = [&](const kind_aside& one) {
    const auto of = kinds.find(one.key);
    const auto* last =
      of != kinds.end() && of->second.aside ? waiting_line::last_of(of->second) : nullptr;
    return last != nullptr && found(*last, one.asked);
  };
  const auto waits = [&](const candidate& one) {
    return found(one.place, asked_by(*shares_, *one.unit.who));
  };
  line.nobody_entitled =
    std::ranges::none_of(line.heap, waits) && std::ranges::none_of(line.aside, is_aside);
  return !line.nobody_entitled;
}

bool scheduling_cycle::is_entitled(const queue_line& line) const {
  return line.leaf == no_vertex || is_only_line() || shares_->is_entitled(line.leaf, line.asked);
}

/// Where there was nothing for one of a run, and it is not set aside, there is nothing for those
/// behind it until somebody makes room.
void scheduling_cycle::advance(queue_line& line, turn_result found) {
  std::pop_heap(line.heap.begin(), line.heap.end());
  auto served = std::move(line.heap.back());
  line.heap.pop_back();
  if (!line.passed || *line.passed < served.place)
    line.passed = served.place;
  if (found == turn_result::waits && served.unit.run)
    passed_over_.emplace_back(served, last_.before);
  else if (found != turn_result::parked)
    line_up_next(line, served, served.place);
  // More of the same workload may have come with it, or gone with those whom it stops.
  const auto is_over = [&](const candidate& next) {
    return next.kind.empty() && !next.unit.run
           && next.unit.who->workload == served.unit.who->workload && !lacks_its_pods(next.unit);
  };
  while (found == turn_result::decided && !line.heap.empty() && is_over(line.heap.front())) {
    std::pop_heap(line.heap.begin(), line.heap.end());
    line.heap.pop_back();
  }
  look_at_front(line);
}

/// Lines up the next of its kind, or of its run, behind that place.
void scheduling_cycle::line_up_next(queue_line& line, const candidate& of,
                                    const service_place& behind) {
  std::optional<placed_unit> next;
  if (of.kind.empty()) {
    if (of.unit.run)
      next = port_.line().next_of_run(of.unit, behind);
  } else {
    const auto& kinds = port_.line().all_kinds();
    const auto alike = kinds.find(of.kind);
    if (alike != kinds.end() && !alike->second.aside)
      next = waiting_line::next_of(alike->second, behind);
  }
  if (!next)
    return;
  line.heap.push_back({next->first, next->second, of.kind});
  std::push_heap(line.heap.begin(), line.heap.end());
}

/// Somebody has made room: those of runs that were passed over have their turn, where it is not
/// over.
void scheduling_cycle::line_up_passed_over(const turn_of& behind) {
  for (const auto& [one, before] : std::exchange(passed_over_, {})) {
    if (before > behind.before) {
      port_.look_again(settings_.now);
      continue;
    }
    auto& line = lines_[std::string(one.unit.queue())];
    line_up_next(line, one, std::max(one.place, behind.place));
    look_at_front(line);
  }
}

/// A decision with victims may have taken those that the unit was to join, and so may whatever came
/// while shards were asked. Placements leave all others as they were, but for more of a gang.
bool scheduling_cycle::lacks_its_pods(const waiting_unit& unit) {
  const bool as_it_was = !others_may_have_gone_ && unit.record
                         && std::ranges::none_of(unit.record->spec->groups, &pod_group::is_gang);
  return as_it_was || port_.still_lacks(*unit.who);
}

} // namespace reprieve
