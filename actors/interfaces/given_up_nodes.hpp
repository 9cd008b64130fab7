#pragma once

#include "state/model/node.hpp"

#include <algorithm>
#include <string>
#include <string_view>

/// How a cluster with a scheduler of its own learns that nobody counts on what a machine runs
/// (docs/operations.md#nodes-that-fall-silent): its node has this taint wherever the cluster is
/// told of it. Pods that are there are no replicas of their deployments any more, and others are
/// placed elsewhere in their stead. Those that are known are stopped by orders when the machine is
/// there again; then the taint is gone.
namespace reprieve {

inline constexpr std::string_view pods_given_up = "reprieve/pods-given-up";

inline void taint_as_given_up(node& told) {
  told.taints.push_back({std::string(pods_given_up), {}, taint_effect::no_execute});
}

inline bool is_tainted_as_given_up(const node& told) {
  return std::ranges::find(told.taints, pods_given_up, &taint::key) != told.taints.end();
}

} // namespace reprieve
