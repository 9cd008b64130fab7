#include "preemption/cascade.hpp"

#include "preemption/room_after.hpp"

#include <algorithm>
#include <optional>

namespace reprieve {

namespace {

room_after room_beside(const problem& given, std::span<const evicted_portion> victims,
                       std::span<const seat> seats) {
  room_after room{given.view};
  for (const auto& one : victims)
    for (const auto p : one.pods)
      room.vacate(p);
  for (const auto& one : seats)
    room.take(one.node, given.asked.groups[one.group].request);
  return room;
}

} // namespace

bool cascade_check::cascades(std::span<const evicted_portion> victims,
                             std::span<const seat> seats) const {
  std::int64_t at_or_below = 0; // pods of victims that are not more important than the one at hand
  for (const auto& one : victims)
    at_or_below += std::ssize(one.pods);
  std::optional<room_after> after;
  for (std::size_t first = 0; first < victims.size();) {
    const auto priority = view_.card(victims[first].portion).priority;
    auto last = first;
    while (last < victims.size() && view_.card(victims[last].portion).priority == priority)
      at_or_below -= std::ssize(victims[last++].pods);
    if (view_.pods_below(priority) == at_or_below)
      return false; // nobody is left for these to preempt, nor for those who follow
    if (!after)
      after.emplace(room_beside(given_, victims, seats));
    for (const auto& one : victims.subspan(first, last - first)) {
      const auto& groups = given_.settings.groups;
      const auto* group = groups.find ? groups.find(view_.id_of(one.portion)) : nullptr;
      for (const auto p : one.pods)
        if (const auto request = view_.requests(p);
            !after->place(request, group)
            && after->has_room_without_those_below(priority, request, group))
          return true;
    }
    first = last;
  }
  return false;
}

} // namespace reprieve
