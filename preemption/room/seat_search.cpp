#include "preemption/room/seat_search.hpp"

#include <algorithm>
#include <utility>

namespace reprieve {

seat_search::seat_search(const problem& given, std::span<const node_row> nodes,
                         std::span<const turn> turns, std::vector<std::int64_t> rooms,
                         std::size_t most_steps)
    : given_(given), nodes_(nodes), turns_(turns), rooms_(std::move(rooms)),
      width_(given.view.width()), steps_left_(most_steps), seated_(turns.size() * nodes.size()) {}

bool seat_search::run(seating& found) {
  if (!each_may_fit(0) || !seat(0, 0, given_.asked.groups[turns_.front().group].needed))
    return false;
  found = seating{given_.asked};
  for (std::size_t at = 0; at < turns_.size(); ++at)
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      for (auto pods = seated_[at * nodes_.size() + i]; pods > 0; --pods) {
        const auto group = turns_[at].group;
        found.seats.push_back({group, found.placed[group]++, nodes_[i]});
      }
  return true;
}

bool seat_search::seat(std::size_t at, std::size_t position, std::size_t lacking) {
  if (lacking == 0 && at + 1 == turns_.size())
    return true;
  if (steps_left_ == 0)
    return false;
  if (lacking == 0)
    return each_may_fit(at + 1)
           && seat(at + 1, 0, given_.asked.groups[turns_[at + 1].group].needed);
  if (position == nodes_.size())
    return false;
  const auto group = turns_[at].group;
  auto& here = seated_[at * nodes_.size() + position];
  here = seats_on(position, group, lacking);
  take(position, group, static_cast<std::int64_t>(here));
  while (true) {
    if (seat(at, position + 1, lacking - here))
      return true;
    if (here == 0)
      return false;
    --here;
    take(position, group, -1);
  }
}

bool seat_search::each_may_fit(std::size_t at) {
  return std::ranges::all_of(turns_.subspan(at), [&](const turn& one) {
    auto lacking = given_.asked.groups[one.group].needed;
    for (std::size_t i = 0; i < nodes_.size() && lacking > 0; ++i)
      lacking -= seats_on(i, one.group, lacking);
    return lacking == 0;
  });
}

std::size_t seat_search::seats_on(std::size_t position, std::size_t group, std::size_t most) {
  steps_left_ -= std::min<std::size_t>(steps_left_, 1);
  if (!given_.filter.suits(group, nodes_[position]))
    return 0;
  const auto& request = given_.asked.groups[group].request;
  auto seats = static_cast<std::int64_t>(most);
  for (std::size_t c = 0; c < width_; ++c)
    if (request[c] > 0)
      seats = std::clamp<std::int64_t>(rooms_[position * width_ + c] / request[c], 0, seats);
  return static_cast<std::size_t>(seats);
}

void seat_search::take(std::size_t position, std::size_t group, std::int64_t pods) {
  const auto& request = given_.asked.groups[group].request;
  for (std::size_t c = 0; c < width_; ++c)
    rooms_[position * width_ + c] -= pods * request[c];
}

} // namespace reprieve
