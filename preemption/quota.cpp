#include "preemption/quota.hpp"

#include "preemption/apportion.hpp"
#include "state/queue_limits.hpp"

#include <algorithm>

namespace reprieve {

namespace {

/// Calls `use(queue)` for the queue and all above it.
void each_above(by_name<queue>& queues, std::string_view name, auto use) {
  for (auto at = queues.find(name); at != queues.end(); at = queues.find(at->second.parent))
    use(at->second);
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
void set_targets(std::int64_t limit, std::int64_t unit, std::vector<group_line>& lines) {
  std::vector<std::int64_t> used;
  wide_int all = 0;
  for (const auto& line : lines) {
    used.push_back(line.used);
    all += line.used;
  }
  if (all > limit) {
    used = apportion(limit / unit, used);
    for (auto& one : used)
      one *= unit;
  }
  auto rest = limit;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    lines[i].target = used[i];
    rest -= used[i];
  }
  for (auto& line : lines) {
    const auto more = std::clamp<std::int64_t>(rest, 0, line.blocked);
    line.target += more;
    rest -= more;
  }
  // Whole units where there are such: a part of a GPU is of use to nobody.
  const auto evenly =
    apportion(std::max<std::int64_t>(rest, 0) / unit, std::vector<std::int64_t>(lines.size(), 1));
  for (std::size_t i = 0; i < lines.size(); ++i)
    lines[i].target += evenly[i] * unit;
}

void share_out_one(const std::string& resource, std::int64_t limit,
                   std::vector<group_line>& lines, grant_changes& changes) {
  set_targets(limit, resource == resource::gpu ? 1000 : 1, lines);
  auto pool = limit;
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

by_name<queue> part_of_group(by_name<queue> queues, const by_name<resources>& elsewhere) {
  for (const auto& [name, used] : elsewhere)
    each_above(queues, name, [&](queue& at) {
      for (auto& [resource, most] : at.limit)
        most = std::max<std::int64_t>(most - amount_of(used, resource), 0);
    });
  return queues;
}

by_name<queue> part_by_grants(by_name<queue> queues, const by_name<resources>* granted,
                              const by_name<queue_totals>& used) {
  by_name<resources> taken; // below each queue
  for (const auto& [name, totals] : used)
    each_above(queues, name, [&](queue& at) { add_to(taken[at.name], totals.staying); });
  for (auto& [name, one] : queues)
    for (auto& [resource, most] : one.limit) {
      const auto* known = granted == nullptr ? nullptr : find(*granted, name);
      if (known == nullptr || !known->contains(resource))
        known = &taken[name];
      most = std::min(most, amount_of(*known, resource));
    }
  return queues;
}

grant_changes share_out(const resources& limit, const by_name<quota_need>& groups,
                        const by_name<resources>& granted) {
  grant_changes changes;
  for (const auto& [resource, amount] : limit) {
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

} // namespace reprieve
