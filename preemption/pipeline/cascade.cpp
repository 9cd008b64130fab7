#include "preemption/pipeline/cascade.hpp"

#include "preemption/pipeline/room_after.hpp"

#include <algorithm>
#include <limits>

namespace reprieve {

namespace {

room_after room_beside(const problem& given, std::span<const evicted_portion> victims,
                       std::span<const seat> seats) {
  room_after room{given.view, given.settings};
  for (const auto& one : victims)
    for (const auto p : one.pods)
      room.vacate(p);
  for (const auto& one : seats)
    room.take(one.node, given.asked.groups[one.group].request);
  return room;
}

} // namespace

std::vector<cascade_check::returning>
cascade_check::as_they_would_wait(std::span<const evicted_portion> victims) const {
  std::vector<returning> found;
  for (const auto& one : victims) {
    const auto card = view_.card(one.portion);
    auto& back = found.emplace_back(returning{nullptr, card.priority, card.priority, true});
    if (const auto origin = given_.settings.origins.of(view_.id_of(one.portion))) {
      back.group = origin->group;
      back.priority = origin->standing.priority;
      back.comes_back = origin->comes_back;
      if (!origin->standing.may_preempt || !back.comes_back)
        back.priority = std::numeric_limits<std::int32_t>::min();
    }
  }
  return found;
}

bool cascade_check::cascades(std::span<const evicted_portion> victims,
                             std::span<const seat> seats) const {
  if (victims.empty())
    return false;
  const auto back = as_they_would_wait(victims);
  const auto highest = std::ranges::max_element(back, {}, &returning::priority)->priority;
  std::int64_t victims_below = 0;
  for (std::size_t i = 0; i < victims.size(); ++i)
    if (back[i].when_it_goes < highest)
      victims_below += std::ssize(victims[i].pods);
  if (view_.pods_below(highest) == victims_below)
    return false; // nobody is left for them to preempt
  auto room = room_beside(given_, victims, seats);
  for (std::size_t i = 0; i < victims.size(); ++i) {
    const auto& [group, priority, when_it_goes, returns] = back[i];
    if (!returns)
      continue;
    bool preempts = false;
    bool all_come_back = true;
    for (const auto p : victims[i].pods) {
      const auto request = view_.requests(p);
      if (room.place(request, group))
        continue;
      const bool comes_back = room.place_without_those_below(priority, request, group);
      preempts = preempts || comes_back;
      all_come_back = all_come_back && comes_back;
    }
    // A group that goes whole preempts nobody where it would not be whole again.
    if (preempts && (all_come_back || !view_.card(victims[i].portion).group))
      return true;
  }
  return false;
}

} // namespace reprieve
