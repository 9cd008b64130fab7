#include "tests/engine/worlds/plan_reading.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace reprieve::tests {

plan_settings open_settings() {
  plan_settings settings;
  settings.group.name = "default";
  settings.now = at(3600);
  return settings;
}

plan_settings session_settings() {
  auto settings = open_settings();
  settings.group.policy = group_policy::sessions;
  return settings;
}

std::multiset<std::string> victims_of(const plan& made) {
  std::multiset<std::string> workloads;
  for (const auto& one : made.victims)
    workloads.insert(one.portion.workload);
  return workloads;
}

std::map<std::string, int> pods_by_node(const plan& made) {
  std::map<std::string, int> pods;
  for (const auto& one : made.assignments)
    ++pods[one.placed.node];
  return pods;
}

const domain_outcome& outcome_of(const plan& made, std::string_view domain) {
  static const domain_outcome missing;
  const auto found = std::ranges::find(made.why.domains, domain, &domain_outcome::domain);
  EXPECT_NE(found, made.why.domains.end()) << domain << " was not tried";
  return found == made.why.domains.end() ? missing : *found;
}

std::string reason_for(const std::vector<spared>& list, std::string_view workload) {
  const auto found =
    std::ranges::find_if(list, [&](const spared& s) { return s.portion.workload == workload; });
  return found == list.end() ? "" : found->reason;
}

std::string what_differs(const plan& a, const plan& b) {
  if (a == b)
    return {};
  std::string fields = "differs in";
  const auto compare = [&](const char* name, const auto& mine, const auto& other) {
    if (mine != other)
      fields += std::string{" "} + name;
  };
  compare("result", a.result, b.result);
  compare("policy", a.policy, b.policy);
  compare("assignments", a.assignments, b.assignments);
  compare("victims", a.victims, b.victims);
  compare("scored", a.scored, b.scored);
  compare("why", a.why, b.why);
  compare("followed", a.followed, b.followed);
  compare("reserve", a.reserve, b.reserve);
  compare("look_again", a.look_again, b.look_again);
  return fields + ": '" + a.why.summary + "', not '" + b.why.summary + "'";
}

} // namespace reprieve::tests
