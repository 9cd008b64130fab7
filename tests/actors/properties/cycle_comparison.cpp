#include "tests/actors/properties/cycle_comparison.hpp"

#include "preemption/policies/required_node/required_node.hpp"
#include "preemption/waiting/wait_reason.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <utility>

namespace reprieve::tests {

namespace {

const std::string& first_uid(const preemptor& who) {
  return who.groups.front().pods.front().uid;
}

bool places(const decision& one, const std::string& uid) {
  return std::ranges::any_of(one.assignments,
                             [&](const assignment& a) { return a.placed.uid == uid; });
}

std::string names_of(const std::vector<victim>& victims) {
  std::vector<std::string> names;
  for (const auto& one : victims)
    names.push_back(to_string(one.portion));
  return fmt::format("{}", fmt::join(names, ", "));
}

/// Which of the victims the cluster counts is found when a decision begins.
std::vector<victim> as_planned(std::vector<victim> victims) {
  for (auto& one : victims)
    one.counted = false;
  return victims;
}

std::string text_of(const decision& one) {
  std::vector<std::string> pods;
  for (const auto& [placed] : one.assignments)
    pods.push_back(fmt::format("{} on {}", placed.name, placed.node));
  return fmt::format("{} ({}): places {}; victims {}; {}", one.id, one.policy,
                     fmt::join(pods, ", "), names_of(one.victims), one.why.summary);
}

} // namespace

cycle_comparison::cycle_comparison(snapshot taken, const std::string& group, time_point now,
                                   cycle_tally& sum)
    : taken_(std::move(taken)), cycle_(taken_), sum_(sum) {
  settings_.group = taken_.settings_of(group);
  settings_.group.name = group;
  settings_.now = now;
  settings_.recent_preemptions = taken_.recent_preemptions(now);
  cycle_.run(settings_);
}

bool cycle_comparison::is_asleep(const turn_taken& turn) const {
  const auto* record = find(taken_.workloads(), turn.who.workload);
  return record != nullptr && why_backed_off(*record, turn.who, settings_.now).has_value();
}

std::string cycle_comparison::of_groundless(const cycle_seen& live) {
  std::set<std::string> expected;
  for (const auto& one : cycle_.groundless())
    expected.insert(one.decision);
  sum_.groundless += static_cast<int>(expected.size());
  for (const auto& turn : cycle_.turns())
    for (const auto& one : turn.gives_up) {
      expected.insert(one.decision);
      ++sum_.given_up;
    }
  const std::set<std::string> found(live.given_up.begin(), live.given_up.end());
  return expected == found ? ""
                           : fmt::format("given up are [{}], not [{}]", fmt::join(found, ", "),
                                         fmt::join(expected, ", "));
}

std::string cycle_comparison::of_taken_back() {
  for (const auto& [id, group, from] : cycle_.taken_back()) {
    ++sum_.taken_back;
    if (left_.empty() || left_.front()->queue.empty())
      return fmt::format("queue {} gives nothing back, and should {}", from.queue,
                         names_of(from.victims));
    const auto& by = *left_.front();
    left_.erase(left_.begin());
    if (by.queue != from.queue || as_planned(by.victims) != from.victims
        || by.why.reprieved != from.reprieved || by.why.passed_over != from.passed_over)
      return fmt::format("queue {} gives back {}, and queue {} should {}", by.queue,
                         names_of(by.victims), from.queue, names_of(from.victims));
  }
  const auto more =
    std::ranges::find_if(left_, [](const decision* one) { return !one->queue.empty(); });
  return more == left_.end() ? ""
                             : fmt::format("queue {} gives back {}, and should nothing",
                                           (*more)->queue, names_of((*more)->victims));
}

std::string cycle_comparison::of_turn(const turn_taken& turn) {
  const auto& made = turn.made;
  const auto text = fmt::format("{} ('{}')", turn.who.workload, made.why.summary);
  const auto found = std::ranges::find_if(
    left_, [&](const decision* one) { return places(*one, made.assignments.front().placed.uid); });
  if (found == left_.end())
    return fmt::format("{} gets nothing", text);
  const auto& by = **found;
  const bool alone =
    !made.victims.empty() || made.result != plan::outcome::placed || !turn.gives_up.empty();
  if (alone && by.id <= std::exchange(last_preempting_, by.id))
    return fmt::format("{} comes out of turn", text);
  for (const auto& [wanted] : made.assignments) {
    auto placed = wanted;
    placed.placed_by = by.id;
    const auto given = std::ranges::find(by.assignments, wanted.uid,
                                         [](const assignment& one) { return one.placed.uid; });
    if (given == by.assignments.end() || given->placed != placed)
      return fmt::format("{} has pod {} on {}, not on {}, or as another pod", text, wanted.uid,
                         given == by.assignments.end() ? "no node" : given->placed.node,
                         wanted.node);
  }
  if (!alone) {
    ++sum_.placed;
    return by.victims.empty() && by.policy == "placement" ? "" : text + " has victims";
  }
  ++sum_.preempting;
  sum_.by_quota += made.policy == "quota" || made.policy == "queues" ? 1 : 0;
  auto differs = of_plan(turn, by);
  left_.erase(found);
  return differs.empty() ? "" : fmt::format("{} differs in{}: {}", text, differs, text_of(by));
}

std::string cycle_comparison::of_plan(const turn_taken& turn, const decision& by) const {
  const auto& made = turn.made;
  std::string fields;
  const auto compare = [&](const char* name, const auto& live, const auto& expected) {
    if (!(live == expected))
      fields += fmt::format(" {}", name);
  };
  compare("the number of pods", by.assignments.size(), made.assignments.size());
  compare("victims", as_planned(by.victims), made.victims);
  compare("score", by.scored, made.scored);
  compare("summary", by.why.summary, made.why.summary);
  compare("reasoning", by.why, made.why);
  compare("policy", by.policy, made.policy.empty() ? "placement" : made.policy);
  compare("priority", by.priority, turn.who.priority);
  compare("workloads", by.workloads, std::vector{turn.who.workload});
  return fields.empty() ? ""
                        : fmt::format("{} (expected victims {})", fields, names_of(made.victims));
}

std::string cycle_comparison::of_reservation(const turn_taken& turn, coordinator_pointer self) {
  if (!is_bound_to_a_node(turn.who) || !turn.made.reserve)
    return {};
  ++sum_.reserved;
  const auto& reserved = self->state.reserved;
  const auto found = reserved.find(first_uid(turn.who));
  return found != reserved.end() && found->second.since == turn.made.reserve->since
           ? ""
           : fmt::format("{} has not reserved its node, or since another time", turn.who.workload);
}

/// Those of a kind for which nothing has changed are not served again.
std::string cycle_comparison::of_waiting(coordinator_pointer self, const cycle_seen& live) {
  std::set<std::string> waiting;
  for (const auto& turn : cycle_.turns())
    if (turn.made.assignments.empty() && !is_asleep(turn))
      waiting.insert(turn.who.workload);
  sum_.waiting += static_cast<int>(waiting.size());
  for (const auto& name : waiting)
    if (!live.waiting.contains(name) && !self->state.mirror.line().last_of(name))
      return fmt::format("{} should wait", name);
  for (const auto& [name, why] : live.waiting)
    if (!waiting.contains(name))
      return fmt::format("{} waits ('{}') and should not", name, why);
  return {};
}

/// Nothing has happened, so that what was true when it was somebody's turn is true still. Of a
/// workload with several units any of their reasons may be told: some are not served again.
std::string cycle_comparison::of_reasons(coordinator_pointer self) {
  ++sum_.at_rest;
  std::map<std::string, std::vector<std::string>> reasons; // by workload
  for (const auto& turn : cycle_.turns())
    if (!is_asleep(turn))
      reasons[turn.who.workload].push_back(turn.made.why.summary);
  for (const auto& [name, expected] : reasons)
    if (const auto told = why_waits(self, name);
        std::ranges::find(expected, told) == expected.end())
      return fmt::format("{} waits because '{}', not because '{}'", name, told, expected.back());
  return {};
}

/// Replica counts are decided before anybody's turn, each step by itself.
std::string cycle_comparison::of_replicas(coordinator_pointer self, const cycle_seen& live) {
  const auto& group = settings_.group.name;
  const auto counted = cycle_.replicas().find(group);
  if (counted == cycle_.replicas().end())
    return {};
  const auto& expected = counted->second;
  auto by = live.decisions.begin();
  for (const auto& step : expected.steps) {
    ++sum_.counted;
    sum_.scaled_down += step.victims.empty() ? 0 : 1;
    if (by == live.decisions.end() || by->policy != "lifecycle")
      return fmt::format("nothing is decided where '{}' should be", step.why.summary);
    if (by->workloads != step.deployments || by->priority != step.priority
        || by->counts != step.counts || by->victims != step.victims
        || by->force_deletes != step.force_deletes || by->why != step.why
        || by->scored != step.scored)
      return fmt::format("'{}' is decided and '{}' should be", by->why.summary, step.why.summary);
    ++by;
  }
  if (by != live.decisions.end() && by->policy == "lifecycle")
    return fmt::format("'{}' is decided and should not be", by->why.summary);
  const auto& ours = self->state.lifecycle;
  sum_.replicas_wait += static_cast<int>(expected.waiting.size());
  if (ours.waiting != expected.waiting)
    return fmt::format("deployments wait for replicas {}, not {}", fmt::join(ours.waiting, "; "),
                       fmt::join(expected.waiting, "; "));
  if (ours.needs != expected.needs)
    return "replicas ask for other amounts";
  return {};
}

std::string cycle_comparison::with(coordinator_pointer self, const cycle_seen& live) {
  ++sum_.cycles;
  left_.clear();
  for (const auto& one : live.decisions)
    if (one.policy != "lifecycle")
      left_.push_back(&one);
  std::size_t pods = 0;
  for (const auto* one : left_)
    pods += one->assignments.size();
  bool decided = !cycle_.groundless().empty() || !cycle_.taken_back().empty();
  auto difference = of_replicas(self, live);
  if (difference.empty())
    difference = of_groundless(live);
  if (difference.empty())
    difference = of_taken_back();
  for (const auto& turn : cycle_.turns()) {
    if (difference.empty())
      difference = of_reservation(turn, self);
    if (turn.made.assignments.empty() || !difference.empty())
      continue;
    decided = true;
    pods -= turn.made.assignments.size();
    difference = of_turn(turn);
  }
  if (difference.empty() && pods != 0)
    difference = "more pods are placed than should be";
  if (difference.empty())
    difference = of_waiting(self, live);
  // What is reserved is reserved while the cycle runs.
  decided = decided || std::ranges::any_of(cycle_.turns(), [](const turn_taken& turn) {
              return turn.made.reserve.has_value();
            });
  if (difference.empty() && !decided && live.decisions.empty())
    difference = of_reasons(self);
  if (difference.empty())
    return {};
  for (const auto& one : live.decisions)
    difference += "\n  decided: " + text_of(one);
  for (const auto& [name, why] : live.waiting)
    difference +=
      fmt::format("\n  waits: {} ({})", name, why.empty() ? why_waits(self, name) : why);
  for (const auto& turn : cycle_.turns())
    difference += fmt::format("\n  expected: {}: {}", turn.who.workload, turn.made.why.summary);
  return difference;
}

} // namespace reprieve::tests
