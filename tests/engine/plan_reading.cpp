#include "tests/engine/plan_reading.hpp"

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

} // namespace reprieve::tests
