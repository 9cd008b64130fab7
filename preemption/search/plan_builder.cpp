#include "preemption/search/plan_builder.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace reprieve {

namespace {

/// Whether the seats are free already, so that nobody has to be waited for.
bool free_now(const problem& given, const seating& found) {
  std::map<node_row, std::vector<std::int64_t>> left;
  return std::ranges::all_of(found.seats, [&](const seat& one) {
    const auto& request = given.asked.groups[one.group].request;
    auto& room = left[one.node];
    if (room.empty())
      room.assign(given.view.free(one.node).begin(), given.view.free(one.node).end());
    const bool fits = covers(room, request);
    for (std::size_t c = 0; c < room.size(); ++c)
      room[c] -= request[c];
    return fits;
  });
}

victim victim_of(const cluster_view& view, const evicted_portion& one) {
  victim told;
  told.portion = view.id_of(one.portion);
  told.priority = view.card(one.portion).priority;
  told.violates_budget = one.pods_over_budget > 0;
  told.work_lost = one.work_lost;
  for (const auto p : one.pods)
    told.pods.push_back(
      {std::string{view.pod_uid(p)}, std::string{view.node_name(view.node_of(p))}});
  return told;
}

} // namespace

std::vector<assignment> assignments_of(const problem& given, const seating& found) {
  auto seats = found.seats;
  std::ranges::sort(seats, {}, [](const seat& one) { return std::pair{one.group, one.pod}; });
  std::vector<assignment> assigned;
  assigned.reserve(seats.size());
  for (const auto& one : seats) {
    auto placed = given.asked.groups[one.group].wanted->pods[one.pod];
    placed.node = given.view.node_name(one.node);
    placed.phase = pod_phase::nominated;
    assigned.push_back({std::move(placed)});
  }
  return assigned;
}

plan plan_of(const problem& given, const explainer& explain, const attempt& chosen) {
  plan made;
  made.assignments = assignments_of(given, chosen.found);
  made.scored = chosen.scored;
  made.why.threshold = chosen.threshold;
  if (given.settings.explained != depth::nothing)
    made.why.summary = explain.summary_of(chosen);
  const auto used = nodes_of(chosen.found);
  made.followed.nodes.assign(used.begin(), used.end());
  made.followed.kept_for_budgets = chosen.kept_for_budgets;
  for (std::size_t i = 0; i < chosen.victims.size(); ++i) {
    const auto& one = chosen.victims[i];
    auto told = victim_of(given.view, one);
    if (!chosen.reasons.empty())
      told.reason = chosen.reasons[i];
    made.victims.push_back(std::move(told));
    made.followed.victims.push_back(one.portion);
  }
  if (!made.victims.empty())
    made.result = plan::outcome::preempts;
  else
    made.result = free_now(given, chosen.found) ? plan::outcome::placed : plan::outcome::waits;
  return made;
}

} // namespace reprieve
