#include "tests/simulation/eviction_causes.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace reprieve::simulation {

namespace {

/// Where the pod stands in its workload, whichever of those that stood there it is.
std::string place_of(const pod& p) {
  return fmt::format("{}/{}/{}/{}", p.workload, p.group, p.replica, p.index);
}

} // namespace

void eviction_causes::changed(std::string_view group, time_point when, time_point until) {
  if (has_begun())
    changes_.push_back({std::string(group), when, std::max(when, until), {}});
}

void eviction_causes::comes_back(std::string_view group, const std::string& workload,
                                 time_point when) {
  changes_.push_back({std::string(group), when, when, workload});
}

bool eviction_causes::anything_changed(std::string_view group, time_point from, time_point to,
                                       std::string_view but_return_of) const {
  return std::ranges::any_of(changes_, [&](const change& one) {
    return one.until >= from && one.at <= to && (one.group.empty() || one.group == group)
           && (one.returns.empty() || one.returns != but_return_of);
  });
}

/// Whether another queue than the one that gives back has got something since then.
bool eviction_causes::others_came(const decision& d, time_point since, time_point until) const {
  return std::ranges::any_of(committed_, [&](const commit& one) {
    return one.group == d.resource_group && one.decided >= since && one.decided <= until
           && std::ranges::any_of(one.queues,
                                  [&](const std::string& queue) { return queue != d.queue; });
  });
}

std::string eviction_causes::judge(const decision& d, const std::vector<stopped_pod>& pods,
                                   time_point now) {
  const bool for_queues = d.policy == "queues" || d.policy == "quota";
  if (!has_begun() || !for_queues || d.victims.empty())
    return {};
  if (!d.queue.empty()) {
    // Who came by a plan that knew all that has changed so far was not to come; but of those who
    // are planned together the later ones may deserve what was lent to the first.
    for (const auto& one : pods)
      if (one.planned >= since_
          && !anything_changed(d.resource_group, one.planned, now, one.workload)
          && !others_came(d, one.planned, one.planned))
        return fmt::format("pod {} goes by decision {}, and nothing has changed since it came: {}",
                           one.uid, d.id, d.why.summary);
    const auto key = d.queue + ' ' + d.resource_group;
    const auto before = taken_back_.find(key);
    const bool again = before != taken_back_.end();
    if (again && !anything_changed(d.resource_group, before->second, now)
        && !others_came(d, before->second, now)
        && std::ranges::all_of(pods, [&](const stopped_pod& one) {
             return one.started != no_time && one.started < before->second;
           }))
      return fmt::format("queue {} gives back once more by decision {}, and nothing has changed "
                         "since the last time: {}",
                         d.queue, d.id, d.why.summary);
    taken_back_[key] = d.decided;
    return {};
  }
  for (const auto& one : d.assignments) {
    const auto place = place_of(one.placed);
    const auto before = served_.find(place);
    if (before != served_.end() && !anything_changed(d.resource_group, before->second, now))
      return fmt::format("others go for {} once more by decision {}, and nothing has changed since "
                         "the last time: {}",
                         place, d.id, d.why.summary);
    served_[place] = d.decided;
  }
  return {};
}

void eviction_causes::given_up(const decision& d, time_point now) {
  if (has_begun() && d.decided >= since_ && !d.assignments.empty())
    given_up_.emplace_back(d, now);
}

void eviction_causes::committed(const decision& d, std::set<std::string> queues) {
  if (has_begun())
    committed_.push_back({d.resource_group, d.priority, d.decided, std::move(queues)});
}

std::string eviction_causes::stopped_in_vain(const std::function<bool(const assignment&)>& runs) {
  for (const auto& [d, ended] : std::exchange(given_up_, {})) {
    const bool excused = anything_changed(d.resource_group, d.decided, ended)
                         || std::ranges::any_of(committed_,
                                                [&](const commit& other) {
                                                  return other.group == d.resource_group
                                                         && other.priority > d.priority
                                                         && other.decided >= d.decided;
                                                })
                         || std::ranges::all_of(d.assignments, runs);
    if (!excused)
      return fmt::format("decision {} was given up when others had gone for it ({}), and {} does "
                         "not run: {}",
                         d.id, d.abort_reason, d.assignments.front().placed.uid, d.why.summary);
  }
  return {};
}

} // namespace reprieve::simulation
