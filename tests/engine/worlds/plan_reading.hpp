#pragma once

#include "preemption/engine.hpp"
#include "tests/support/cluster_builder.hpp"

#include <map>
#include <set>
#include <string>
#include <string_view>

/// Short ways to say what a plan is expected to be.
namespace reprieve::tests {

/// Settings with which nothing is limited; `now` is an hour after what runs was started.
plan_settings open_settings();

/// Likewise, in a resource group of sessions.
plan_settings session_settings();

/// The workloads that victims belong to, each as often as it has victims.
std::multiset<std::string> victims_of(const plan& made);

/// How many pods each node gets.
std::map<std::string, int> pods_by_node(const plan& made);

const domain_outcome& outcome_of(const plan& made, std::string_view domain);

/// Why the workload's portion stays; empty where it is not in the list.
std::string reason_for(const std::vector<spared>& list, std::string_view workload);

/// The fields in which the plans are not the same; empty where they are.
std::string what_differs(const plan& a, const plan& b);

} // namespace reprieve::tests
