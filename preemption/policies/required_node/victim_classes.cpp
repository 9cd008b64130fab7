#include "preemption/policies/required_node/victim_classes.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <tuple>

namespace reprieve {

namespace {

constexpr std::array classes{
  victim_class{"regular", [](const cluster_view&, pod_row) { return true; }},
  victim_class{"owner", [](const cluster_view& view, pod_row p) { return view.is_owner(p); }},
  victim_class{"opt-out", [](const cluster_view& view, pod_row p) { return view.opted_out(p); }}};

/// The position of the last class that takes one of the pods.
std::size_t rank_of(const cluster_view& view, std::span<const pod_row> pods) {
  for (auto rank = classes.size(); rank-- > 0;)
    if (std::ranges::any_of(pods, [&](pod_row p) { return classes[rank].takes(view, p); }))
      return rank;
  return 0;
}

time_point earliest_creation(const cluster_view& view, std::span<const pod_row> pods) {
  auto earliest = time_point::max();
  for (const auto p : pods)
    if (const auto created = view.created(p); created != no_time)
      earliest = std::min(earliest, created);
  return earliest;
}

/// What the pods hold on one node; a sum that would leave 64 bits is too much for any node.
std::vector<std::int64_t> held_on(const cluster_view& view, node_row n,
                                  std::span<const pod_row> pods) {
  std::vector<std::int64_t> held(view.width());
  for (const auto p : pods)
    if (view.node_of(p) == n)
      for (std::size_t c = 0; c < held.size(); ++c)
        if (__builtin_add_overflow(held[c], view.requests(p)[c], &held[c]))
          held[c] = std::numeric_limits<std::int64_t>::max();
  return held;
}

possible_victim describe(const cluster_view& view, portion_row portion, const wanted_room& wanted) {
  const auto pods = view.pods_of(portion);
  const auto card = view.card(portion);
  possible_victim one;
  one.portion = portion;
  one.rank = rank_of(view, pods);
  one.priority = card.priority;
  one.started = card.earliest_start != no_time;
  one.since = one.started ? card.earliest_start : earliest_creation(view, pods);
  one.held = held_on(view, wanted.node, pods);
  one.size = size_of(one.held, wanted);
  one.uid = view.pod_uid(pods.begin()[0]);
  return one;
}

/// Seed 003, sorting pods.
bool goes_before(const possible_victim& a, const possible_victim& b) {
  const auto by_priority = [](const possible_victim& v) {
    return std::tuple{v.rank, v.priority, v.started};
  };
  if (by_priority(a) != by_priority(b))
    return by_priority(a) < by_priority(b);
  if (a.since != b.since)
    return a.since > b.since;
  if (a.size != b.size)
    return a.size > b.size;
  return a.uid < b.uid;
}

} // namespace

std::span<const victim_class> victim_classes() {
  return classes;
}

wanted_room room_wanted(const cluster_view& view, node_row n, amounts request) {
  wanted_room wanted{n, request, std::vector<std::int64_t>(request.size())};
  const auto room = view.promised(n);
  // The node would do if it were empty, so this is at most what its pods hold.
  for (std::size_t c = 0; c < request.size(); ++c)
    if (request[c] > 0 && request[c] > room[c])
      wanted.missing[c] = request[c] - room[c];
  return wanted;
}

fraction size_of(amounts held, const wanted_room& wanted) {
  fraction largest;
  for (std::size_t c = 0; c < held.size(); ++c)
    if (wanted.missing[c] > 0)
      largest = std::max(largest, fraction{held[c], wanted.request[c]});
  return largest;
}

std::vector<possible_victim> possible_victims(const cluster_view& view,
                                              const candidate_rules& rules,
                                              const wanted_room& wanted) {
  std::vector<possible_victim> victims;
  for (const auto portion : rules.candidates_on({&wanted.node, 1}, rules.highest_level()))
    victims.push_back(describe(view, portion, wanted));
  std::ranges::sort(victims, goes_before);
  return victims;
}

} // namespace reprieve
