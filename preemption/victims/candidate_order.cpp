#include "preemption/victims/candidate_order.hpp"

#include "preemption/pipeline/attempt.hpp"
#include "preemption/problem/fraction.hpp"

#include <algorithm>
#include <utility>

namespace reprieve {

namespace {

fraction part_held(const cluster_view& view, const domain_room& room, amounts wanted,
                   portion_row portion) {
  const bool one_node = room.size() == 1;
  fraction largest;
  for (std::size_t c = 0; c < wanted.size(); ++c) {
    if (wanted[c] <= 0)
      continue;
    fraction part{0, wanted[c]};
    for (const auto p : view.pods_of(portion))
      if (!one_node || view.node_of(p) == room.node(0))
        part.part += view.requests(p)[c];
    largest = std::max(largest, part);
  }
  return largest;
}

} // namespace

std::vector<std::int64_t> what_is_short(const problem& given, domain_room& room) {
  room.open(nobody_goes);
  const auto lacking = shortage_of(given, room);
  const auto& request = given.asked.groups[lacking.group].request;
  std::vector<std::int64_t> wanted(request.size());
  for (resource_column c = 0; c < request.size(); ++c)
    if (room.size() == 1 ? request[c] > given.view.promised(room.node(0))[c]
                         : c == lacking.resource)
      wanted[c] = request[c];
  return wanted;
}

void put_the_largest_last(const cluster_view& view, const domain_room& room, amounts wanted,
                          std::vector<portion_row>& candidates) {
  std::vector<std::pair<fraction, portion_row>> by_size;
  for (const auto p : candidates)
    by_size.emplace_back(part_held(view, room, wanted, p), p);
  std::ranges::stable_sort(by_size, {}, [](const auto& one) { return one.first; });
  std::ranges::transform(by_size, candidates.begin(), [](const auto& one) { return one.second; });
}

void put_those_first_who_hold_little(const problem& given, const domain_room& room,
                                     std::vector<portion_row>& candidates) {
  const auto& view = given.view;
  const auto n = room.node(0);
  const auto& request = given.asked.groups.front().request;
  const auto promised = view.promised(n);
  const auto held_by = [&](portion_row portion, std::size_t column) {
    std::int64_t held = 0;
    for (const auto p : view.pods_of(portion))
      held += view.node_of(p) == n ? view.requests(p)[column] : 0;
    return held;
  };
  // The scarcest is what the fewest hold among those resources that are short.
  std::size_t fewest = candidates.size() + 1;
  std::size_t scarcest = 0;
  for (std::size_t c = 0; c < request.size(); ++c) {
    if (request[c] == 0 || request[c] <= promised[c])
      continue;
    const auto holders = static_cast<std::size_t>(
      std::ranges::count_if(candidates, [&](portion_row p) { return held_by(p, c) > 0; }));
    if (holders < fewest) {
      fewest = holders;
      scarcest = c;
    }
  }
  std::ranges::stable_partition(candidates,
                                [&](portion_row p) { return held_by(p, scarcest) == 0; });
}

} // namespace reprieve
