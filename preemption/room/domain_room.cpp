#include "preemption/room/domain_room.hpp"

#include "preemption/room/seat_search.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

namespace reprieve {

namespace {

/// Where groups compete for so few nodes, seats are searched for, this far.
constexpr std::size_t most_nodes_for_search = 64;
constexpr std::size_t search_steps = 500;

} // namespace

domain_room::domain_room(const problem& given)
    : given_(given), view_(given.view), width_(given.view.width()),
      hardest_first_(hardest_first(given)), totals_(given.asked.groups.size()), scratch_(width_) {
  const auto& groups = given.asked.groups;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    listed_.push_back({g, 0});
    auto& asked = asked_columns_.emplace_back();
    for (resource_column c = 0; c < width_; ++c)
      if (groups[g].request[c] > 0)
        asked.push_back({c, groups[g].request[c]});
  }
}

void domain_room::start(std::span<const node_row> nodes, basis from) {
  nodes_ = nodes;
  from_ = from;
  kept_.clear();
  positions_.forget_all();
  if (nodes.size() > 1)
    for (std::uint32_t i = 0; i < nodes.size(); ++i)
      positions_[nodes[i]] = i;
  group_of_.assign(nodes.size(), 0);
  competing_ = false;
  const auto groups = given_.asked.groups.size();
  for (std::size_t i = 0; i < nodes.size() && groups > 1; ++i) {
    std::size_t suited = 0;
    for (std::size_t g = 0; g < groups; ++g)
      if (given_.filter.suits(g, nodes[i])) {
        group_of_[i] = static_cast<std::uint32_t>(g);
        ++suited;
      }
    competing_ = competing_ || suited > 1;
  }
  rooms_.resize(nodes.size() * width_);
  seats_.assign(nodes.size(), 0);
  open(nobody_goes);
}

void domain_room::keep(pod_row p) {
  if (const auto at = position_of(view_.node_of(p)); at != no_row)
    kept_.push_back({at, view_.card(view_.portion_of(p)).priority, p});
}

void domain_room::keep_portion(portion_row p) {
  for (const auto one : view_.pods_of(p))
    keep(one);
}

void domain_room::open(std::int64_t level) {
  std::ranges::fill(totals_, 0);
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const auto n = nodes_[i];
    const auto room = room_of(i);
    std::ranges::copy(from_ == basis::free ? view_.free(n) : view_.promised(n), room.begin());
    if (const auto step = step_at(view_, n, level); step < view_.steps(n).size()) {
      const auto held = view_.held_from(n, step);
      for (std::size_t c = 0; c < width_; ++c)
        room[c] += held[c];
    }
  }
  for (const auto& one : kept_)
    if (one.priority <= level) {
      const auto stays = view_.requests(one.pod);
      const auto room = room_of(one.position);
      for (std::size_t c = 0; c < width_; ++c)
        room[c] -= stays[c];
    }
  if (competing_)
    return;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    seats_[i] = seats_in(i, room(i));
    totals_[group_of_[i]] += seats_[i];
  }
}

std::int64_t domain_room::seats_in(std::size_t position, amounts room) const {
  auto most = static_cast<std::int64_t>(given_.asked.groups[group_of_[position]].needed);
  for (const auto& [column, amount] : asked_columns_[group_of_[position]]) {
    if (room[column] < amount)
      return 0;
    // Most often there is room for one and not for two, and a division costs more than all else.
    most = std::min(most, room[column] - amount < amount ? 1 : room[column] / amount);
  }
  return most;
}

void domain_room::recount(std::size_t position) {
  if (competing_)
    return;
  const auto now = seats_in(position, room(position));
  totals_[group_of_[position]] += now - seats_[position];
  seats_[position] = now;
}

void domain_room::give(std::size_t position, amounts request) {
  const auto room = room_of(position);
  for (std::size_t c = 0; c < width_; ++c)
    room[c] += request[c];
  recount(position);
}

void domain_room::take(std::size_t position, amounts request) {
  const auto room = room_of(position);
  for (std::size_t c = 0; c < width_; ++c)
    room[c] -= request[c];
  recount(position);
}

std::uint32_t domain_room::position_of(node_row n) const {
  if (nodes_.size() == 1)
    return nodes_.front() == n ? 0 : no_row;
  return positions_.has(n) ? positions_.at(n) : no_row;
}

/// Calls `use(position, pod)` for the portion's pods in the domain; neighbours by name together.
template <class F>
void domain_room::for_pods_here(portion_row p, F use) const {
  for (const auto one : view_.pods_of(p))
    if (const auto at = position_of(view_.node_of(one)); at != no_row)
      use(at, one);
}

void domain_room::vacate(portion_row p) {
  for_pods_here(p, [&](std::uint32_t at, pod_row one) { give(at, view_.requests(one)); });
}

void domain_room::occupy(portion_row p) {
  for_pods_here(p, [&](std::uint32_t at, pod_row one) { take(at, view_.requests(one)); });
}

std::int64_t domain_room::seats_gained(portion_row p) {
  std::int64_t gained = 0;
  std::uint32_t here = no_row;
  const auto settle = [&] {
    if (here != no_row)
      gained += seats_in(here, scratch_) - seats_[here];
  };
  for_pods_here(p, [&](std::uint32_t at, pod_row one) {
    if (at != here) {
      settle();
      here = at;
      std::ranges::copy(room(at), scratch_.begin());
    }
    const auto request = view_.requests(one);
    for (std::size_t c = 0; c < width_; ++c)
      scratch_[c] += request[c];
  });
  settle();
  return gained;
}

std::int64_t domain_room::lacking() const {
  std::int64_t lacking = 0;
  for (std::size_t g = 0; g < totals_.size(); ++g)
    lacking += std::max<std::int64_t>(
      static_cast<std::int64_t>(given_.asked.groups[g].needed) - totals_[g], 0);
  return lacking;
}

bool domain_room::fits() const {
  if (!competing_)
    return lacking() == 0;
  seating found{given_.asked};
  return seat(found);
}

bool domain_room::seat(seating& found) const {
  const auto try_order = [&](std::span<const turn> turns, node_order order) {
    auto rooms = rooms_;
    found = seating{given_.asked};
    return seat_in(rooms, turns, order, found);
  };
  if (try_order(listed_, node_order::by_name))
    return true;
  if (!competing_)
    return false;
  if (try_order(listed_, node_order::tightest_first)
      || try_order(hardest_first_, node_order::tightest_first)
      || try_order(hardest_first_, node_order::by_name))
    return true;
  if (nodes_.size() > most_nodes_for_search)
    return false;
  return seat_search{given_, nodes_, hardest_first_, rooms_, search_steps}.run(found);
}

bool domain_room::seat_as_listed(seating& found) const {
  auto rooms = rooms_;
  found = seating{given_.asked};
  return seat_in(rooms, listed_, node_order::by_name, found);
}

void domain_room::claim(const seating& found) {
  claims_.assign(rooms_.size(), 0);
  for (const auto& one : found.seats)
    if (const auto at = position_of(one.node); at != no_row) {
      const auto& request = given_.asked.groups[one.group].request;
      for (std::size_t c = 0; c < width_; ++c) {
        rooms_[at * width_ + c] -= request[c];
        claims_[at * width_ + c] += request[c];
      }
    }
}

bool domain_room::put_back_beside_claims(portion_row p) {
  const auto add = [&](std::uint32_t at, amounts request, std::int64_t sign) {
    for (std::size_t c = 0; c < width_; ++c)
      rooms_[at * width_ + c] += sign * request[c];
  };
  bool fits = true;
  for_pods_here(p, [&](std::uint32_t at, pod_row one) {
    const auto request = view_.requests(one);
    add(at, request, -1);
    for (std::size_t c = 0; c < width_; ++c)
      fits =
        fits && (claims_[at * width_ + c] == 0 || request[c] == 0 || rooms_[at * width_ + c] >= 0);
  });
  if (!fits)
    for_pods_here(p, [&](std::uint32_t at, pod_row one) { add(at, view_.requests(one), 1); });
  return fits;
}

void domain_room::seat_the_rest(seating& found) {
  for (const auto& [g, dominant] : hardest_first_) {
    const auto all = given_.asked.groups[g].wanted->pods.size();
    for (std::size_t i = 0; i < nodes_.size() && found.placed[g] < all; ++i)
      seat_on(rooms_, i, g, all, found);
  }
}

bool domain_room::seat_in(std::vector<std::int64_t>& rooms, std::span<const turn> turns,
                          node_order order, seating& found) const {
  std::vector<std::uint32_t> positions(nodes_.size());
  std::iota(positions.begin(), positions.end(), 0U);
  for (const auto& [g, dominant] : turns) {
    const auto needed = given_.asked.groups[g].needed;
    if (order == node_order::tightest_first)
      std::ranges::stable_sort(positions, {}, [&, column = dominant](std::uint32_t i) {
        return rooms[i * width_ + column];
      });
    for (std::size_t at = 0; at < positions.size() && found.placed[g] < needed; ++at)
      seat_on(rooms, positions[at], g, needed, found);
    if (found.placed[g] < needed) {
      found.lacking = g;
      return false;
    }
  }
  return true;
}

/// As many pods of the group as fit on the node, up to `most` in all.
void domain_room::seat_on(std::vector<std::int64_t>& rooms, std::size_t position, std::size_t group,
                          std::size_t most, seating& found) const {
  const std::span<std::int64_t> room{rooms.data() + position * width_, width_};
  const auto& request = given_.asked.groups[group].request;
  while (found.placed[group] < most && covers(room, request)) {
    if (!given_.filter.suits(group, nodes_[position]))
      return;
    for (std::size_t c = 0; c < width_; ++c)
      room[c] -= request[c];
    found.seats.push_back({group, found.placed[group]++, nodes_[position]});
  }
}

} // namespace reprieve
