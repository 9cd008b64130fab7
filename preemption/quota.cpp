#include "preemption/quota.hpp"

#include "preemption/apportion.hpp"
#include "state/quantity.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace reprieve {

namespace {

/// Whether some queue from this one up to the top limits the resource.
bool is_limited(const by_name<queue>& queues, std::string_view name, std::string_view resource) {
  for (const queue* at = find(queues, name); at != nullptr; at = find(queues, at->parent))
    if (at->limit.contains(std::string(resource)))
      return true;
  return false;
}

queue_outcome* outcome_of(queue_stage_result& result, std::string_view name, bool own_pods) {
  for (auto& one : result.queues)
    if (one.queue == name && one.own_pods == own_pods)
      return &one;
  return nullptr;
}

bool has_children(const by_name<queue>& queues, std::string_view name) {
  return std::ranges::any_of(queues, [&](const auto& one) { return one.second.parent == name; });
}

/// One resource of one group.
struct group_line {
  const std::string* group = nullptr;
  std::int64_t used = 0;
  std::int64_t blocked = 0;
  std::int64_t granted = 0;
  std::int64_t target = 0;
};

/// What each should have: what it uses, then what waits, then an even part of the rest.
void set_targets(std::int64_t allocated, std::vector<group_line>& lines) {
  auto rest = allocated;
  for (auto& line : lines) {
    line.target = line.used;
    rest -= line.used;
  }
  for (auto& line : lines) {
    const auto more = std::clamp<std::int64_t>(rest, 0, line.blocked);
    line.target += more;
    rest -= more;
  }
  const auto evenly =
    apportion(std::max<std::int64_t>(rest, 0), std::vector<std::int64_t>(lines.size(), 1));
  for (std::size_t i = 0; i < lines.size(); ++i)
    lines[i].target += evenly[i];
}

void share_out_one(const std::string& resource, std::int64_t allocated,
                   std::vector<group_line>& lines, grant_changes& changes) {
  set_targets(allocated, lines);
  auto pool = allocated;
  for (const auto& line : lines)
    pool -= line.granted;
  bool lacking = pool < 0;
  for (auto& line : lines) {
    const auto more =
      std::clamp<std::int64_t>(pool, 0, std::max<std::int64_t>(line.target - line.granted, 0));
    line.granted += more;
    pool -= more;
    changes.granted[*line.group][resource] = line.granted;
    lacking = lacking || line.granted < std::min(line.target, line.used + line.blocked);
  }
  if (lacking)
    for (const auto& line : lines)
      if (line.target < line.granted)
        changes.lower[*line.group][resource] = line.target;
}

} // namespace

by_name<resources> spendable(const queue_stage_result& result) {
  by_name<resources> amounts;
  // A queue comes before its own pods, which have less.
  for (const auto& one : result.queues)
    amounts[one.queue] = one.status.allocated;
  return amounts;
}

void lend_unassigned(const by_name<queue>& queues, queue_stage_result& result) {
  for (auto& [resource, left] : result.unassigned) {
    std::vector<const queue*> takers;
    std::vector<std::int64_t> weights;
    for (const auto& [name, one] : queues)
      if (one.cap_by_demand && !has_children(queues, name) && !is_limited(queues, name, resource)) {
        takers.push_back(&one);
        weights.push_back(one.weight);
      }
    const auto lent = apportion(std::max<std::int64_t>(left, 0), weights);
    for (std::size_t i = 0; i < takers.size(); ++i) {
      left -= lent[i];
      for (const queue* at = takers[i]; at != nullptr; at = find(queues, at->parent))
        if (auto* outcome = outcome_of(result, at->name, false))
          outcome->status.allocated[resource] += lent[i];
    }
  }
}

grant_changes share_out(const resources& allocated, const by_name<quota_need>& groups,
                        const by_name<resources>& granted) {
  grant_changes changes;
  for (const auto& [resource, amount] : allocated) {
    std::vector<group_line> lines;
    for (const auto& [group, need] : groups) {
      auto& line = lines.emplace_back();
      line.group = &group;
      line.used = amount_of(need.used.staying, resource);
      line.blocked = amount_of(need.blocked, resource);
      if (const auto* had = find(granted, group))
        line.granted = amount_of(*had, resource);
    }
    share_out_one(resource, amount, lines, changes);
  }
  return changes;
}

std::string beyond_grant(std::string_view queue, const resources& granted, const resources& used,
                         const resources& more) {
  for (const auto& [resource, most] : granted) {
    const auto asked = amount_of(more, resource);
    const auto taken = amount_of(used, resource);
    if (asked > 0 && taken + asked > most)
      return fmt::format("queue {} may use {} {} here, {} are taken and {} more are asked for",
                         queue, format_quantity(most, resource), resource,
                         format_quantity(taken, resource), format_quantity(asked, resource));
  }
  return {};
}

} // namespace reprieve
