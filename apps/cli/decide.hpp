#pragma once

#include "apps/cli/commands.hpp"

#include <optional>
#include <string>
#include <vector>

namespace reprieve::cli {

/// What a command ends with where there is no plan.
inline constexpr int infeasible = 3;

struct decide_request {
  std::vector<std::string> files;
  std::string preemptor; ///< a workload or a pod; empty for everything that waits
  std::string policy;    ///< in place of the resource group's
  std::string now;       ///< as in manifests; the clock's where it is empty
  bool all = false;      ///< the whole cycle
  bool like_kubernetes = false;
};

/// Runs the engine on a snapshot, without any server, and prints what it says.
int decide(const decide_request& wanted, output as);

} // namespace reprieve::cli
