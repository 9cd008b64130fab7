#include "tests/engine/worlds/plain_cluster.hpp"

#include "tests/support/plain_room.hpp"

#include <algorithm>

namespace reprieve::tests {

plain_cluster::plain_cluster(const std::vector<node>& nodes, const std::vector<pod>& pods)
    : nodes_(nodes) {
  std::map<portion_id, plain_portion> found;
  for (const auto& p : pods) {
    if (!p.evicted_by.empty() || is_leaving(p.phase))
      continue;
    auto [at, fresh] = found.try_emplace(portion_of(p));
    auto& one = at->second;
    one.id = at->first;
    one.priority = fresh ? p.priority : std::max(one.priority, p.priority);
    one.start = std::min(one.start, p.started);
    one.movable = one.movable && !p.daemon && !p.protected_member;
    one.pods.push_back(&p);
  }
  for (auto& [id, one] : found)
    portions_.push_back(std::move(one));
}

room_by_node plain_cluster::room_without(const std::set<portion_id>& gone) const {
  room_by_node room;
  for (const auto& n : nodes_)
    room[n.name] = room_of(n);
  for (const auto& one : portions_)
    if (!gone.contains(one.id))
      for (const auto* p : one.pods)
        add(room[p->node], p->requests, -1);
  return room;
}

bool fits(const resources& room, const resources& request) {
  return std::ranges::all_of(taken_by(request), [&](const auto& one) {
    return one.second <= 0 || one.second <= amount_of(room, one.first);
  });
}

void add(resources& to, const resources& request, std::int64_t sign) {
  for (const auto& [name, value] : taken_by(request))
    to[name] += sign * value;
}

std::int64_t seat_count(room_by_node room, const resources& request, std::int64_t most) {
  std::int64_t count = 0;
  for (auto& [name, left] : room)
    for (; count < most && fits(left, request); ++count)
      add(left, request, -1);
  return count;
}

std::set<portion_id> portions_that_go(const plan& made) {
  std::set<portion_id> gone;
  for (const auto& one : made.victims)
    gone.insert(one.portion);
  return gone;
}

bool same(const plan& a, const plan& b) {
  return a.result == b.result && a.policy == b.policy && a.assignments == b.assignments
         && a.victims == b.victims && a.scored == b.scored && a.why == b.why
         && a.reserve == b.reserve && a.look_again == b.look_again;
}

} // namespace reprieve::tests
