#include "tests/bench/plain_scan.hpp"

#include "preemption/pipeline/scoring.hpp"
#include "tests/support/plain_room.hpp"

#include <algorithm>
#include <tuple>

namespace reprieve {

namespace {

void add(resources& room, const resources& requests, std::int64_t sign) {
  for (const auto& [name, value] : requests)
    room[name] += sign * value;
  room[std::string(resource::pods)] += sign;
}

bool overdrawn(const resources& room) {
  return std::ranges::any_of(room, [](const auto& one) { return one.second < 0; });
}

std::optional<std::vector<const pod*>> victims_on(const plain_scan::node_with_pods& n,
                                                  const pod& wanted, std::int32_t priority) {
  auto room = room_of(n.spec);
  std::vector<const pod*> candidates;
  for (const auto& p : n.pods) {
    if (p.priority < priority)
      candidates.push_back(&p);
    else
      add(room, p.requests, -1);
  }
  add(room, wanted.requests, -1);
  if (overdrawn(room))
    return std::nullopt;
  std::ranges::sort(candidates, {}, [](const pod* p) {
    return std::tuple(-p->priority, p->started, std::string_view(p->uid));
  });
  std::vector<const pod*> victims;
  for (const auto* p : candidates) {
    add(room, p->requests, -1);
    if (overdrawn(room)) {
      add(room, p->requests, 1);
      victims.push_back(p);
    }
  }
  return victims;
}

score score_of(const std::vector<const pod*>& victims, time_point now) {
  auto total = score_of_nobody(now);
  for (const auto* p : victims)
    add_to(total, {.priority = p->priority, .pods = 1, .earliest_start = p->started}, 0,
           amount_of(p->requests, resource::gpu)
             * std::chrono::floor<std::chrono::seconds>(now - p->started).count() / 1000,
           now);
  return total;
}

} // namespace

std::optional<plain_scan::choice> plain_scan::decide(const preemptor& who, time_point now) const {
  std::optional<choice> best;
  for (const auto& n : nodes_)
    if (const auto victims = victims_on(n, who.groups.front().pods.front(), who.priority)) {
      const auto scored = score_of(*victims, now);
      if (!best || better(scored, best->scored, minimise::pods))
        best = {n.spec.name, scored};
    }
  return best;
}

} // namespace reprieve
